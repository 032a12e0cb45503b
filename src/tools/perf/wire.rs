//! The parameters of a test as they go from client to server: `perftest_params_t` of UCX 1.22.

use core::mem::{offset_of, size_of, zeroed};

/// The memory and number of an accelerator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub kind: u32,
    pub id: i32,
}

impl Device {
    pub const fn of((kind, id): (u32, i32)) -> Device {
        Device { kind, id }
    }
}

/// Only numbers, and no bytes between them: any bytes are a value.
#[repr(C)]
pub struct Wire {
    pub api: u32,
    pub command: u32,
    pub pattern: u32,
    pub thread_mode: u32,
    pub threads: u32,
    pub async_mode: u32,
    pub wait_mode: u32,
    pub send_mem_type: u32,
    pub recv_mem_type: u32,
    pub send_device: Device,
    pub recv_device: Device,
    pub device_level: u32,
    pub flags: u32,
    pub pad0: u32,
    pub sizes: u64,
    pub pieces: u64,
    pub iov_stride: u64,
    pub alignment: u64,
    pub max_outstanding: u32,
    pub pad1: u32,
    pub warmup_iter: u64,
    pub warmup_time: f64,
    pub max_iter: u64,
    pub max_time: f64,
    pub report_interval: f64,
    pub percentile: f64,
    pub channel_mode: u32,
    pub pad2: u32,
    pub channel_seed: u64,
    pub device_threads: u32,
    pub blocks: u32,
    pub device_window: u32,
    pub pad3: u32,
    /// Pointers of the sender's.
    pub private: [u64; 4],
    pub device_name: [u8; 32],
    pub tl_name: [u8; 10],
    pub md_name: [u8; 16],
    pub pad4: [u8; 2],
    pub layout: u32,
    pub fc_window: u32,
    pub pad5: u32,
    pub am_header: u64,
    pub send_iov: u32,
    pub recv_iov: u32,
    pub ucp_am_header: u64,
    pub daemon: u32,
    pub pad6: u32,
    pub daemon_addresses: [[u64; 16]; 2],
    pub test: i32,
    pub pad7: u32,
}

/// Bytes of [`Wire`].
pub const WIRE_LEN: usize = size_of::<Wire>();

// Where UCX's compiler puts them.
const _: () = {
    assert!(WIRE_LEN == 584);
    assert!(offset_of!(Wire, sizes) == 64);
    assert!(offset_of!(Wire, private) == 184);
    assert!(offset_of!(Wire, am_header) == 288);
    assert!(offset_of!(Wire, test) == 576);
};

impl Wire {
    pub const fn zeroed() -> Wire {
        // SAFETY: only numbers.
        unsafe { zeroed() }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: only numbers, and no bytes between them.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast(), WIRE_LEN) }
    }

    /// `None` for another number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Wire> {
        // SAFETY: as many bytes as there are, and any are a value.
        (bytes.len() == WIRE_LEN).then(|| unsafe { bytes.as_ptr().cast::<Wire>().read_unaligned() })
    }
}
