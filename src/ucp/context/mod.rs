//! Contexts: the features asked for, the configuration, and the transports chosen by it.
//!
//! A context is plain data, shared by workers on any threads. Memory domains and interfaces are
//! bound to one thread, so each worker opens its own with [`Context::open_ifaces`].

mod check;
mod ifaces;
pub mod names;
mod resources;
#[cfg(test)]
pub(crate) mod test_components;
pub mod tls;
pub mod why;

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bitflags::bitflags;

use crate::ucp::mem::{AllocMethod, Regions};
use crate::ucp::rkey::config::RkeyConfigs;
use crate::ucs::config::Config;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::Result;
use crate::uct::cuda::mover;
use crate::uct::{Component, DeviceKind, MdAttr, TlDevice};

pub use ifaces::{OpenIface, OpenIfaces};

/// Index of a resource in [`Context::resources`].
pub type RscIndex = u8;

/// Most resources (a transport on a device) of a context.
pub const MAX_RESOURCES: usize = 128;

bitflags! {
    /// What the user will do (`UCP_FEATURE_*`).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Features: u64 {
        const TAG = 1 << 0;
        const RMA = 1 << 1;
        const AMO32 = 1 << 2;
        const AMO64 = 1 << 3;
        const WAKEUP = 1 << 4;
        const STREAM = 1 << 5;
        const AM = 1 << 6;
        const EXPORTED_MEMH = 1 << 7;
        const DEVICE = 1 << 8;
        /// Features of later versions are the user's to ask for; they have no meaning here.
        const _ = !0;
    }
}

/// Called on the user's part of a request: once when its memory is made, and once before that
/// memory is freed.
pub type RequestHook = unsafe extern "C" fn(request: *mut c_void);

/// Parameters of a context, as `ucp_params_t` gives them.
#[derive(Clone, Debug)]
pub struct ContextParams {
    pub features: Features,
    /// Bytes of the user's part of each request.
    pub request_size: usize,
    pub request_init: Option<RequestHook>,
    pub request_cleanup: Option<RequestHook>,
    /// The bits of a tag that tell senders apart.
    pub tag_sender_mask: u64,
    /// Workers may be used by several threads at once.
    pub mt_workers_shared: bool,
    /// Endpoints that the user will make, at least 1.
    pub estimated_num_eps: usize,
    /// Processes of this job on this host, at least 1.
    pub estimated_num_ppn: usize,
    /// For messages.
    pub name: Option<String>,
    /// Index of the process on its host, from 0.
    pub node_local_id: Option<usize>,
}

impl Default for ContextParams {
    fn default() -> Self {
        ContextParams {
            features: Features::empty(),
            request_size: 0,
            request_init: None,
            request_cleanup: None,
            tag_sender_mask: 0,
            mt_workers_shared: false,
            estimated_num_eps: 1,
            estimated_num_ppn: 1,
            name: None,
            node_local_id: None,
        }
    }
}

/// A memory domain that has resources in use.
#[derive(Clone, Debug)]
pub struct MdResource {
    /// Index into [`Context::components`].
    pub cmpt_index: u8,
    pub name: String,
    pub attr: MdAttr,
}

/// A transport on a device.
#[derive(Clone, Debug)]
pub struct TlResource {
    pub md_index: u8,
    /// Equal for resources on one device.
    pub dev_index: u8,
    /// The user restricted it to auxiliary use (`tl:aux`).
    pub aux: bool,
    pub device: TlDevice,
}

impl TlResource {
    pub fn tl_name(&self) -> &'static str {
        self.device.tl_name
    }

    pub fn dev_name(&self) -> &str {
        &self.device.dev_name
    }

    pub fn kind(&self) -> DeviceKind {
        self.device.kind
    }
}

/// See the module.
pub struct Context {
    pub name: String,
    pub params: ContextParams,
    pub config: Config,
    /// All components of the library, in its order.
    pub components: &'static [&'static dyn Component],
    pub mds: Vec<MdResource>,
    pub resources: Vec<TlResource>,
    /// Drawn at random: tells keys of this context from those of others.
    pub uid: u64,
    pub regions: Regions,
    /// What unpacked keys have in common.
    pub rkey_configs: RkeyConfigs,
    /// Where `ucp_mem_map` allocates, first choice first.
    pub alloc_methods: Vec<AllocMethod>,
    /// Memory of devices is copied for it.
    _copies: Option<mover::InUse>,
}

impl Context {
    /// Finds the transports that the configuration allows.
    ///
    /// # Errors
    /// `NoElem` when a list in the configuration is empty, `NoDevice` when nothing usable is left,
    /// `InvalidParam` for values that can't be used. All are logged.
    pub fn new(params: ContextParams, config: Config) -> Result<Arc<Context>> {
        Self::with_components(params, config, crate::uct::registry::components())
    }

    /// [`Context::new`] over the given components.
    pub fn with_components(
        mut params: ContextParams,
        config: Config,
        components: &'static [&'static dyn Component],
    ) -> Result<Arc<Context>> {
        check::usable(&config)?;
        crate::ucs::arch::use_copy_bounds();
        let found = resources::discover(components, &config)?;
        for rsc in &found.resources {
            check::usable_by(&config, rsc.tl_name())?;
        }
        let forced = |name: &str| config.count(name).and_then(|n| usize::try_from(n).ok());
        if let Some(eps) = forced("NUM_EPS") {
            params.estimated_num_eps = eps.max(1);
        }
        if let Some(ppn) = forced("NUM_PPN") {
            params.estimated_num_ppn = ppn.max(1);
        }
        let name = params.name.clone().unwrap_or_else(default_name);
        let (mds, resources) = (found.mds, found.resources);
        let alloc_methods = AllocMethod::read_all(&config)?;
        let is_cuda = |md: &MdResource| md.attr.types.is_some();
        let _copies = mds.iter().any(is_cuda).then(mover::InUse::new);
        Ok(Arc::new(Context {
            name,
            params,
            config,
            components,
            mds,
            resources,
            uid: crate::sys::event::random_u64(),
            regions: Regions::default(),
            rkey_configs: RkeyConfigs::default(),
            alloc_methods,
            _copies,
        }))
    }

    /// True if the user asked for any of these features.
    pub fn has_feature(&self, features: Features) -> bool {
        self.params.features.intersects(features)
    }

    /// Types of memory that buffers may be of, as a mask.
    pub fn memory_types(&self) -> u64 {
        let types = self.mds.iter().filter_map(|md| md.attr.types);
        types.fold(MemoryType::HOST.bit(), |all, types| all | types.detect)
    }

    /// Whether buffers may be of this type.
    pub fn uses(&self, kind: MemoryType) -> bool {
        self.memory_types() & kind.bit() != 0
    }

    /// The components that have a transport in use.
    pub fn components_in_use(&self) -> impl Iterator<Item = &'static dyn Component> {
        let used = |index: usize| {
            self.mds
                .iter()
                .any(|md| usize::from(md.cmpt_index) == index)
        };
        let all = self.components.iter().enumerate();
        all.filter(move |(index, _)| used(*index))
            .map(|(_, component)| *component)
    }

    /// The resources through which the processor itself reaches a peer's memory, which makes its
    /// operations atomic.
    pub fn direct_resources(&self) -> Vec<RscIndex> {
        let maps = |rsc: &TlResource| {
            let md = self.mds.get(usize::from(rsc.md_index));
            md.is_some_and(|md| md.attr.rkey_ptr)
        };
        let all = self.resources.iter().zip(0..);
        all.filter(|(rsc, _)| maps(rsc))
            .map(|(_, index)| index)
            .collect()
    }

    /// The component that a memory domain belongs to.
    pub fn component_of(&self, md_index: u8) -> Option<&'static dyn Component> {
        let md = self.mds.get(usize::from(md_index))?;
        self.components.get(usize::from(md.cmpt_index)).copied()
    }
}

/// `ucp_context_N`, counted in this process.
fn default_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("ucp_context_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::test_components::COMPONENTS;
    use super::*;
    use crate::ucs::status::Error;
    use crate::uct::IfaceParams;

    fn open(fail: &str) -> Result<Vec<RscIndex>> {
        let mut config = Config::default();
        config.set("FAKE_FAIL", fail);
        let context = Context::with_components(ContextParams::default(), config, COMPONENTS)?;
        let open = context.open_ifaces(&IfaceParams::default())?;
        assert_eq!(open.mds.len(), context.mds.len());
        Ok(open.ifaces.iter().map(|iface| iface.rsc_index).collect())
    }

    #[test]
    fn a_transport_that_fails_is_left_out() {
        assert_eq!(open(""), Ok(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(open("sysv/memory,tcp/lo"), Ok(vec![0, 1, 4, 5]));
    }

    #[test]
    fn without_any_transport_the_first_error_is_returned() {
        let all = "self/memory,tcp/eth0,tcp/lo,sysv/memory,posix/memory,cma/memory";
        assert_eq!(open(all), Err(Error::NoMemory));
    }

    #[test]
    fn estimates_can_be_forced() {
        let context = |values: &[(&str, &str)]| {
            let mut config = Config::default();
            values
                .iter()
                .for_each(|(name, value)| config.set(name, value));
            let params = ContextParams {
                estimated_num_ppn: 3,
                ..ContextParams::default()
            };
            Context::with_components(params, config, COMPONENTS).map(|context| {
                (
                    context.params.estimated_num_eps,
                    context.params.estimated_num_ppn,
                )
            })
        };
        assert_eq!(context(&[]), Ok((1, 3)));
        assert_eq!(
            context(&[("NUM_EPS", "100"), ("NUM_PPN", "0")]),
            Ok((100, 1))
        );
    }

    #[test]
    fn workers_may_be_on_any_thread() {
        fn shared<T: Send + Sync>() {}
        shared::<Context>();
        let params = ContextParams::default();
        let context = Context::with_components(params, Config::default(), COMPONENTS);
        let context = context.expect("resources");
        let open = |context: Arc<Context>| {
            move || {
                context
                    .open_ifaces(&IfaceParams::default())
                    .map(|open| open.ifaces.len())
            }
        };
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(open(context.clone())))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), Ok(6));
        }
    }
}
