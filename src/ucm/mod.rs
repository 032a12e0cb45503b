//! Memory events (UCM).
