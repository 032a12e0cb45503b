//! `ucs/time/time_def.h`.

use crate::abi::prelude::*;

pub type ucs_time_t = c_ulong;
