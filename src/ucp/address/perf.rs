//! Wire form of costs: the upper half of an `f32`. Eight bits of exponent hold any plausible
//! value, seven of mantissa are more than cost estimates are worth.

/// Rounds to the nearest value that 16 bits can hold. NaN and negative values become 0.
pub fn pack(value: f64) -> u16 {
    let value = value as f32;
    if value.is_nan() || value <= 0.0 {
        return 0;
    }
    if value.is_infinite() {
        return (f32::INFINITY.to_bits() >> 16) as u16;
    }
    let rounded = value.to_bits().saturating_add(0x8000) >> 16;
    rounded as u16
}

/// The value, or `None` for bytes that [`pack`] never makes.
pub fn unpack(bits: u16) -> Option<f64> {
    let value = f32::from_bits(u32::from(bits) << 16);
    (!value.is_nan() && value.is_sign_positive()).then_some(f64::from(value))
}

/// What remains of a value after the trip.
pub fn rounded(value: f64) -> f64 {
    unpack(pack(value)).unwrap_or(0.0)
}
