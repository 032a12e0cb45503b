//! Types and constants of `ucp/api/ucp.h`: amo.

/// Atomic operations.
pub type ucp_atomic_op_t = u32;
/// Add the operand.
pub const UCP_ATOMIC_OP_ADD: ucp_atomic_op_t = 0;
/// Replace by the operand.
pub const UCP_ATOMIC_OP_SWAP: ucp_atomic_op_t = 1;
/// Replace if the operand is there.
pub const UCP_ATOMIC_OP_CSWAP: ucp_atomic_op_t = 2;
/// Bitwise and.
pub const UCP_ATOMIC_OP_AND: ucp_atomic_op_t = 3;
/// Bitwise or.
pub const UCP_ATOMIC_OP_OR: ucp_atomic_op_t = 4;
/// Bitwise exclusive or.
pub const UCP_ATOMIC_OP_XOR: ucp_atomic_op_t = 5;
pub const UCP_ATOMIC_OP_LAST: ucp_atomic_op_t = 6;
