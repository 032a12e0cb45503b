//! Reads an input: a program, byte by byte.

/// Reads an input.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A length, short ones more often than not.
    pub fn len(&mut self) -> usize {
        match self.byte() {
            n @ 0..=223 => usize::from(n),
            n => (usize::from(n) - 223) * 256 + usize::from(self.byte()),
        }
    }

    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }
}
