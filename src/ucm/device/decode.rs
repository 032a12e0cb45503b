//! The first instructions of a function, as far as they can be carried out somewhere else.

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Bytes.
    pub len: usize,
    /// Where a displacement relative to the next instruction is in it.
    pub relative: Option<usize>,
    /// Nothing after it is reached.
    pub last: bool,
}

/// The instruction that `code` begins with, if it is one that compilers begin functions with.
pub fn decode(code: &[u8]) -> Option<Instruction> {
    let plain = |len| {
        Some(Instruction {
            len,
            relative: None,
            last: false,
        })
    };
    if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) {
        return plain(4);
    }
    let (rex, rest) = match code {
        [rex @ 0x40..=0x4f, rest @ ..] => (Some(*rex), rest),
        _ => (None, code),
    };
    let before = code.len() - rest.len();
    let wide = rex.is_some_and(|rex| rex & 8 != 0);
    match *rest.first()? {
        // push, pop, nop
        0x50..=0x5f | 0x90 => plain(before + 1),
        // mov $imm, %reg
        0xb8..=0xbf => plain(before + if wide { 9 } else { 5 }),
        // add, or, and, sub, xor, cmp, test, mov, lea, movsxd: no immediate operand
        0x01
        | 0x03
        | 0x09
        | 0x0b
        | 0x21
        | 0x23
        | 0x29
        | 0x2b
        | 0x31
        | 0x33
        | 0x39
        | 0x3b
        | 0x63
        | 0x84
        | 0x85
        | 0x88..=0x8b
        | 0x8d => operand(rest, before, 0),
        0x80 | 0x83 | 0xc6 => operand(rest, before, 1),
        0x81 | 0xc7 => operand(rest, before, 4),
        0xe9 => Some(Instruction {
            len: before + 5,
            relative: Some(before + 1),
            last: true,
        }),
        // jmp *disp(%rip)
        0xff if rest.get(1) == Some(&0x25) => Some(Instruction {
            len: before + 6,
            relative: Some(before + 2),
            last: true,
        }),
        _ => None,
    }
}

/// An opcode with registers or memory, and an immediate of this many bytes.
fn operand(code: &[u8], before: usize, immediate: usize) -> Option<Instruction> {
    let modrm = *code.get(1)?;
    let (mode, base) = (modrm >> 6, modrm & 7);
    let has_sib = mode != 3 && base == 4;
    let sib_base = if has_sib { *code.get(2)? & 7 } else { 0 };
    let displacement = match mode {
        0 if base == 5 || (has_sib && sib_base == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(Instruction {
        len: before + 2 + usize::from(has_sib) + displacement + immediate,
        relative: (mode == 0 && base == 5).then_some(before + 2),
        last: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_functions() {
        let len = |code: &[u8]| decode(code).map(|found| (found.len, found.relative));
        assert_eq!(len(&[0xf3, 0x0f, 0x1e, 0xfa]), Some((4, None)));
        assert_eq!(len(&[0x55]), Some((1, None)));
        assert_eq!(len(&[0x41, 0x57]), Some((2, None)));
        assert_eq!(len(&[0x48, 0x89, 0xe5]), Some((3, None)));
        assert_eq!(len(&[0x48, 0x81, 0xec, 0, 1, 0, 0]), Some((7, None)));
        assert_eq!(len(&[0x48, 0x83, 0xec, 8]), Some((4, None)));
        assert_eq!(len(&[0x48, 0x8d, 0x05, 1, 2, 3, 4]), Some((7, Some(3))));
        assert_eq!(len(&[0x8b, 0x05, 1, 2, 3, 4]), Some((6, Some(2))));
        assert_eq!(len(&[0x48, 0x8b, 0x44, 0x24, 8]), Some((5, None)));
        assert_eq!(len(&[0xe9, 1, 2, 3, 4]), Some((5, Some(1))));
        assert_eq!(len(&[0xff, 0x25, 1, 2, 3, 4]), Some((6, Some(2))));
        assert_eq!(len(&[0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8]), Some((10, None)));
        assert_eq!(len(&[0x0f, 0x05]), None);
        assert_eq!(len(&[]), None);
    }
}
