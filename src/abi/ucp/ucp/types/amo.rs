//! Types and constants of `ucp/api/ucp.h`: amo.

pub type ucp_atomic_op_t = u32;
pub const UCP_ATOMIC_OP_ADD: ucp_atomic_op_t = 0;
pub const UCP_ATOMIC_OP_SWAP: ucp_atomic_op_t = 1;
pub const UCP_ATOMIC_OP_CSWAP: ucp_atomic_op_t = 2;
pub const UCP_ATOMIC_OP_AND: ucp_atomic_op_t = 3;
pub const UCP_ATOMIC_OP_OR: ucp_atomic_op_t = 4;
pub const UCP_ATOMIC_OP_XOR: ucp_atomic_op_t = 5;
pub const UCP_ATOMIC_OP_LAST: ucp_atomic_op_t = 6;
