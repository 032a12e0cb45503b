//! What entry points share: handles, C streams and strings, where we come from. Nothing here is
//! exported.

pub mod cfile;
pub mod cstr;
pub mod handle;
pub mod origin;
pub mod pgtable;
pub mod rcache;
pub mod sockaddr;
pub mod topo_source;
pub mod transport;
