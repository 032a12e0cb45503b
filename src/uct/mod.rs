//! Transports (UCT).
