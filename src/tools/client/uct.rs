//! Transports: components, memory domains, interfaces, connection managers.

use core::ffi::{c_char, c_uint, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut};

use super::{array_text, c_text, check};
use crate::abi::prelude::*;
use crate::tools::library::functions;

functions! {
    fn uct_query_components(list: *mut *mut uct_component_h, count: *mut c_uint) -> ucs_status_t;
    fn uct_release_component_list(list: *mut uct_component_h);
    fn uct_component_query(component: uct_component_h, attr: *mut uct_component_attr_t) -> ucs_status_t;
    fn uct_md_config_read(
        component: uct_component_h,
        prefix: *const c_char,
        file: *const c_char,
        config: *mut *mut uct_md_config_t,
    ) -> ucs_status_t;
    fn uct_config_release(config: *mut c_void);
    fn uct_md_open(
        component: uct_component_h,
        name: *const c_char,
        config: *const uct_md_config_t,
        md: *mut uct_md_h,
    ) -> ucs_status_t;
    fn uct_md_close(md: uct_md_h);
    fn uct_md_query_v2(md: uct_md_h, attr: *mut uct_md_attr_v2_t) -> ucs_status_t;
    fn uct_md_query_tl_resources(
        md: uct_md_h,
        list: *mut *mut uct_tl_resource_desc_t,
        count: *mut c_uint,
    ) -> ucs_status_t;
    fn uct_release_tl_resource_list(list: *mut uct_tl_resource_desc_t);
    fn uct_md_iface_config_read(
        md: uct_md_h,
        tl_name: *const c_char,
        prefix: *const c_char,
        file: *const c_char,
        config: *mut *mut uct_iface_config_t,
    ) -> ucs_status_t;
    fn uct_iface_open(
        md: uct_md_h,
        worker: uct_worker_h,
        params: *const uct_iface_params_t,
        config: *const uct_iface_config_t,
        iface: *mut uct_iface_h,
    ) -> ucs_status_t;
    fn uct_iface_query(iface: uct_iface_h, attr: *mut uct_iface_attr_t) -> ucs_status_t;
    fn uct_iface_close(iface: uct_iface_h);
    fn uct_worker_create(
        context: *mut ucs_async_context_t,
        mode: ucs_thread_mode_t,
        worker: *mut uct_worker_h,
    ) -> ucs_status_t;
    fn uct_worker_destroy(worker: uct_worker_h);
    fn ucs_async_context_create(mode: ucs_async_mode_t, context: *mut *mut ucs_async_context_t) -> ucs_status_t;
    fn ucs_async_context_destroy(context: *mut ucs_async_context_t);
    fn uct_cm_config_read(
        component: uct_component_h,
        prefix: *const c_char,
        file: *const c_char,
        config: *mut *mut uct_cm_config_t,
    ) -> ucs_status_t;
    fn uct_cm_open(
        component: uct_component_h,
        worker: uct_worker_h,
        config: *const uct_cm_config_t,
        cm: *mut uct_cm_h,
    ) -> ucs_status_t;
    fn uct_cm_query(cm: uct_cm_h, attr: *mut uct_cm_attr_t) -> ucs_status_t;
    fn uct_cm_close(cm: uct_cm_h);
}

/// A family of transports.
#[derive(Clone, Copy)]
pub struct Component(pub uct_component_h);

/// What a component says of itself.
pub struct ComponentAttr {
    pub name: String,
    pub flags: u64,
    /// Names of its memory domains.
    pub mds: Vec<String>,
}

/// All components.
///
/// # Errors
/// The library's.
pub fn components() -> Result<Vec<Component>, Error> {
    let (mut list, mut count) = (null_mut(), 0);
    // SAFETY: the library gives a list of `count` handles, which stay valid after its release.
    unsafe {
        check(uct_query_components(&mut list, &mut count))?;
        let found = (0..count as usize).map(|i| Component(list.add(i).read()));
        let found = found.collect();
        uct_release_component_list(list);
        Ok(found)
    }
}

impl Component {
    /// # Errors
    /// The library's.
    pub fn query(self) -> Result<ComponentAttr, Error> {
        // SAFETY: a structure for which zero is a value; a live handle; room for as many domains
        // as the library said.
        unsafe {
            let mut attr: uct_component_attr_t = zeroed();
            attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME
                | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
                | UCT_COMPONENT_ATTR_FIELD_FLAGS;
            check(uct_component_query(self.0, &mut attr))?;
            let mut mds: Vec<uct_md_resource_desc_t> = Vec::new();
            mds.resize(attr.md_resource_count as usize, zeroed());
            attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
            attr.md_resources = mds.as_mut_ptr();
            check(uct_component_query(self.0, &mut attr))?;
            Ok(ComponentAttr {
                name: array_text(&attr.name),
                flags: attr.flags,
                mds: mds.iter().map(|md| array_text(&md.md_name)).collect(),
            })
        }
    }

    /// Opens a memory domain.
    ///
    /// # Errors
    /// `None` when its configuration can't be read, else the library's.
    pub fn open_md(self, name: &str) -> Result<Md, Option<Error>> {
        let name = c_text(name);
        // SAFETY: live handles; the configuration is released once.
        unsafe {
            let mut config = null_mut();
            check(uct_md_config_read(self.0, null(), null(), &mut config)).map_err(|_| None)?;
            let mut md = null_mut();
            let status = uct_md_open(self.0, name.as_ptr(), config, &mut md);
            uct_config_release(config.cast());
            check(status)?;
            Ok(Md(md))
        }
    }

    /// The most bytes that the component's connection manager sends along with a request.
    ///
    /// # Errors
    /// The words that say what failed.
    pub fn max_conn_priv(self, worker: &Worker) -> Result<usize, &'static str> {
        // SAFETY: live handles, each released once.
        unsafe {
            let mut config = null_mut();
            check(uct_cm_config_read(self.0, null(), null(), &mut config))
                .map_err(|_| "read configuration of")?;
            let mut cm = null_mut();
            let status = uct_cm_open(self.0, worker.handle, config, &mut cm);
            uct_config_release(config.cast());
            check(status).map_err(|_| "open")?;
            let mut attr: uct_cm_attr_t = zeroed();
            attr.field_mask = UCT_CM_ATTR_FIELD_MAX_CONN_PRIV;
            let status = uct_cm_query(cm, &mut attr);
            uct_cm_close(cm);
            check(status).map_err(|_| "query")?;
            Ok(attr.max_conn_priv)
        }
    }
}

/// A memory domain.
pub struct Md(pub uct_md_h);

impl Drop for Md {
    fn drop(&mut self) {
        // SAFETY: opened, and closed once.
        unsafe { uct_md_close(self.0) };
    }
}

/// A transport on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    pub tl_name: String,
    pub dev_name: String,
    pub dev_type: u32,
    pub sys_device: ucs_sys_device_t,
}

impl Md {
    /// # Errors
    /// The library's.
    pub fn query(&self) -> Result<uct_md_attr_v2_t, Error> {
        // SAFETY: a structure for which zero is a value; a live handle.
        unsafe {
            let mut attr: uct_md_attr_v2_t = zeroed();
            attr.field_mask = u64::MAX;
            check(uct_md_query_v2(self.0, &mut attr))?;
            Ok(attr)
        }
    }

    /// # Errors
    /// The library's.
    pub fn resources(&self) -> Result<Vec<Resource>, Error> {
        let (mut list, mut count) = (null_mut(), 0);
        // SAFETY: the library gives a list of `count` entries.
        unsafe {
            check(uct_md_query_tl_resources(self.0, &mut list, &mut count))?;
            let entry = |i| {
                let entry = &*list.add(i);
                Resource {
                    tl_name: array_text(&entry.tl_name),
                    dev_name: array_text(&entry.dev_name),
                    dev_type: entry.dev_type,
                    sys_device: entry.sys_device,
                }
            };
            let found = (0..count as usize).map(entry).collect();
            uct_release_tl_resource_list(list);
            Ok(found)
        }
    }

    /// Opens an interface on a device.
    ///
    /// # Errors
    /// `None` when its configuration can't be read, else the library's.
    pub fn open_iface(
        &self,
        worker: &Worker,
        tl: &str,
        device: &str,
    ) -> Result<Iface, Option<Error>> {
        let (tl, device) = (c_text(tl), c_text(device));
        // SAFETY: live handles and strings; a structure for which zero is a value.
        unsafe {
            let mut config = null_mut();
            check(uct_md_iface_config_read(
                self.0,
                tl.as_ptr(),
                null(),
                null(),
                &mut config,
            ))
            .map_err(|_| None)?;
            let mut params: uct_iface_params_t = zeroed();
            params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE
                | UCT_IFACE_PARAM_FIELD_DEVICE
                | UCT_IFACE_PARAM_FIELD_STATS_ROOT
                | UCT_IFACE_PARAM_FIELD_RX_HEADROOM;
            params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
            params.mode.device = uct_iface_params_mode_device {
                tl_name: tl.as_ptr(),
                dev_name: device.as_ptr(),
            };
            let mut iface = null_mut();
            let status = uct_iface_open(self.0, worker.handle, &params, config, &mut iface);
            uct_config_release(config.cast());
            check(status)?;
            Ok(Iface(iface))
        }
    }
}

/// An interface.
pub struct Iface(pub uct_iface_h);

impl Iface {
    /// # Errors
    /// The library's.
    pub fn query(&self) -> Result<uct_iface_attr_t, Error> {
        // SAFETY: a structure for which zero is a value; a live handle.
        unsafe {
            let mut attr: uct_iface_attr_t = zeroed();
            check(uct_iface_query(self.0, &mut attr))?;
            Ok(attr)
        }
    }
}

impl Drop for Iface {
    fn drop(&mut self) {
        // SAFETY: opened, and closed once.
        unsafe { uct_iface_close(self.0) };
    }
}

/// A worker, with the asynchronous context that it needs.
pub struct Worker {
    pub handle: uct_worker_h,
    context: *mut ucs_async_context_t,
}

impl Worker {
    /// # Errors
    /// The library's, with whether it was the context that failed.
    pub fn new(
        mode: ucs_async_mode_t,
        threads: ucs_thread_mode_t,
    ) -> Result<Worker, (Error, bool)> {
        let (mut context, mut handle) = (null_mut(), null_mut());
        // SAFETY: places for handles; the context is destroyed where no worker takes it.
        unsafe {
            check(ucs_async_context_create(mode, &mut context)).map_err(|error| (error, true))?;
            let made = check(uct_worker_create(context, threads, &mut handle));
            if made.is_err() {
                ucs_async_context_destroy(context);
            }
            made.map_err(|error| (error, false))?;
        }
        Ok(Worker { handle, context })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: both are live, the worker goes first.
        unsafe {
            uct_worker_destroy(self.handle);
            ucs_async_context_destroy(self.context);
        }
    }
}
