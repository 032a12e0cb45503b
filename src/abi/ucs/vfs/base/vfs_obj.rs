//! `ucs/vfs/base/vfs_obj.h`.

use std::ffi::CString;
use std::sync::LazyLock;

use parking_lot::Mutex;

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::abi::ucs::datastruct::string_buffer::ucs_string_buffer_push;
use crate::ucs::vfs::{Found, Tree};

pub type ucs_vfs_file_read_cb_t = Option<
    unsafe extern "C" fn(
        obj: *mut c_void,
        strb: *mut ucs_string_buffer_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
    ),
>;
pub type ucs_vfs_file_write_cb_t = Option<
    unsafe extern "C" fn(
        obj: *mut c_void,
        buffer: *const c_char,
        size: usize,
        arg_ptr: *mut c_void,
        arg_u64: u64,
    ) -> ucs_status_t,
>;
pub type ucs_vfs_refresh_cb_t = Option<unsafe extern "C" fn(obj: *mut c_void)>;
pub type ucs_vfs_list_dir_cb_t =
    Option<unsafe extern "C" fn(name: *const c_char, arg: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_vfs_path_info_t {
    pub size: usize,
    pub mode: c_int,
}

/// What a file is read and written by; as `vfs_file_t` of `variadic.c`.
///
/// cbindgen:ignore
#[repr(C)]
#[derive(Clone, Copy)]
struct File {
    read_cb: ucs_vfs_file_read_cb_t,
    write_cb: ucs_vfs_file_write_cb_t,
    arg_ptr: *mut c_void,
    arg_u64: u64,
}

/// A folder's refresh function.
///
/// cbindgen:ignore
type Refresh = unsafe extern "C" fn(obj: *mut c_void);

// SAFETY: the tree only keeps what it was given; calls are made by those who read the file.
unsafe impl Send for File {}

static TREE: LazyLock<Mutex<Tree<File, Refresh>>> = LazyLock::new(Mutex::default);

fn address(object: *const c_void) -> usize {
    object.expose_provenance()
}

fn object(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

fn status(result: Result<(), Error>) -> ucs_status_t {
    result.map_or_else(Status::from, |()| Status::OK)
}

/// What the variadic functions come down to, with the path as text.
///
/// # Safety
/// `path` is a C string.
pub(in crate::abi) unsafe extern "C" fn add_dir(
    parent: *mut c_void,
    obj: *mut c_void,
    path: *const c_char,
) -> ucs_status_t {
    // SAFETY: as the caller says.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    status(TREE.lock().add_folder(address(parent), address(obj), &path))
}

/// # Safety
/// `path` is a C string, `file` is readable.
pub(in crate::abi) unsafe extern "C" fn add_file(
    obj: *mut c_void,
    file: *const c_void,
    path: *const c_char,
) -> ucs_status_t {
    // SAFETY: as the caller says.
    let (path, file) = unsafe { (cstr::text(path), file.cast::<File>().read()) };
    let path = path.unwrap_or_default();
    status(TREE.lock().add_file(address(obj), &path, file))
}

/// # Safety
/// `path` is a C string.
pub(in crate::abi) unsafe extern "C" fn add_link(
    obj: *mut c_void,
    target: *mut c_void,
    path: *const c_char,
) -> ucs_status_t {
    // SAFETY: as the caller says.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    status(TREE.lock().add_link(address(obj), address(target), &path))
}

/// Removes an object and what is under it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_remove(obj: *mut c_void) {
    TREE.lock().remove(address(obj));
}

/// Lets a folder be filled again when it is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_set_dirty(obj: *mut c_void, refresh_cb: ucs_vfs_refresh_cb_t) {
    if let Some(refresh) = refresh_cb {
        TREE.lock().set_dirty(address(obj), refresh);
    }
}

/// Fills a folder, if it has to be before it is read.
fn refresh(path: &str) {
    let dirty = TREE.lock().take_dirty(path);
    if let Some((refresh, of)) = dirty {
        // SAFETY: the function of the object's owner, which removes the object before it goes.
        unsafe { refresh(object(of)) };
    }
}

/// Appends what a file says.
///
/// # Safety
/// `strb` is a string buffer.
unsafe fn show(file: &File, of: usize, strb: *mut ucs_string_buffer_t) {
    if let Some(read) = file.read_cb {
        // SAFETY: the function and arguments that the object's owner gave for this.
        unsafe { read(object(of), strb, file.arg_ptr, file.arg_u64) };
    }
}

fn length(file: &File, of: usize) -> usize {
    let mut strb = ucs_string_buffer_t {
        buffer: core::ptr::null_mut(),
        length: 0,
        capacity: 0,
    };
    // SAFETY: a buffer of our own, initialised before its use and cleaned up after it.
    unsafe {
        ucs_string_buffer_init(&raw mut strb);
        show(file, of, &raw mut strb);
        let length = ucs_string_buffer_length(&raw mut strb);
        ucs_string_buffer_cleanup(&raw mut strb);
        length
    }
}

/// What is at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_get_info(
    path: *const c_char,
    info: *mut ucs_vfs_path_info_t,
) -> ucs_status_t {
    // SAFETY: NULL or a C string.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    if info.is_null() {
        return Error::InvalidParam.into();
    }
    refresh(&path);
    let found = TREE.lock().find(&path);
    let (size, mode) = match found {
        None => return Error::NoElem.into(),
        Some(Found::Folder(count)) => (count, libc::S_IFDIR | libc::S_IRUSR | libc::S_IXUSR),
        Some(Found::Link(way)) => (way.len(), libc::S_IFLNK | libc::S_IRUSR | libc::S_IXUSR),
        Some(Found::File(file, of)) => {
            let write = if file.write_cb.is_some() {
                libc::S_IWUSR
            } else {
                0
            };
            (length(&file, of), libc::S_IFREG | libc::S_IRUSR | write)
        }
    };
    let mode = mode as c_int;
    // SAFETY: not NULL, so the caller's own.
    unsafe { info.write(ucs_vfs_path_info_t { size, mode }) };
    Status::OK
}

/// Reads a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_read_file(
    path: *const c_char,
    strb: *mut ucs_string_buffer_t,
) -> ucs_status_t {
    // SAFETY: NULL or a C string.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    let found = TREE.lock().find(&path);
    match found {
        _ if strb.is_null() => Error::InvalidParam.into(),
        Some(Found::File(file, of)) => {
            // SAFETY: the caller's buffer.
            unsafe { show(&file, of, strb) };
            Status::OK
        }
        _ => Error::NoElem.into(),
    }
}

/// Writes a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_write_file(
    path: *const c_char,
    buffer: *const c_char,
    size: usize,
) -> ucs_status_t {
    // SAFETY: NULL or a C string.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    let found = TREE.lock().find(&path);
    match found {
        Some(Found::File(file, of)) if file.write_cb.is_some() => file.write_cb.map_or(
            Error::NoElem.into(),
            // SAFETY: the function and arguments that the object's owner gave for this, and the
            // caller's bytes.
            |write| unsafe { write(object(of), buffer, size, file.arg_ptr, file.arg_u64) },
        ),
        _ => Error::NoElem.into(),
    }
}

/// Lists a folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_list_dir(
    path: *const c_char,
    dir_cb: ucs_vfs_list_dir_cb_t,
    arg: *mut c_void,
) -> ucs_status_t {
    // SAFETY: NULL or a C string.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    let Some(tell) = dir_cb else {
        return Error::InvalidParam.into();
    };
    refresh(&path);
    let names = TREE.lock().list(&path);
    let Some(names) = names else {
        return Error::NoElem.into();
    };
    for name in names.into_iter().filter_map(|name| CString::new(name).ok()) {
        // SAFETY: the caller's function and argument; the name lives until it returns.
        unsafe { tell(name.as_ptr(), arg) };
    }
    Status::OK
}

/// Where a link leads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_path_get_link(
    path: *const c_char,
    strb: *mut ucs_string_buffer_t,
) -> ucs_status_t {
    // SAFETY: NULL or a C string.
    let path = unsafe { cstr::text(path) }.unwrap_or_default();
    let found = TREE.lock().find(&path);
    match found {
        Some(Found::Link(way)) => {
            // SAFETY: NULL or the caller's buffer.
            unsafe { ucs_string_buffer_push(strb, way.as_bytes()) };
            Status::OK
        }
        _ => Error::NoElem.into(),
    }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Adds a folder for an object.
    pub fn ucs_vfs_obj_add_dir(
        parent_obj: *mut c_void,
        obj: *mut c_void,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a file that can be read.
    pub fn ucs_vfs_obj_add_ro_file(
        obj: *mut c_void,
        read_cb: ucs_vfs_file_read_cb_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a file that can be read and written.
    pub fn ucs_vfs_obj_add_rw_file(
        obj: *mut c_void,
        read_cb: ucs_vfs_file_read_cb_t,
        write_cb: ucs_vfs_file_write_cb_t,
        arg_ptr: *mut c_void,
        arg_u64: u64,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
    /// Adds a link to another object.
    pub fn ucs_vfs_obj_add_sym_link(
        obj: *mut c_void,
        target_obj: *mut c_void,
        rel_path: *const c_char,
        ...
    ) -> ucs_status_t;
}
