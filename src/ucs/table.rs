//! Text tables with borders, as `ucx_info` prints them.

use core::fmt::Write;

use super::status::{Error, Result};

/// Where the text of a cell stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    Left,
    Right,
    /// An odd blank goes to the right.
    Center,
}

struct Cell {
    span: usize,
    align: Align,
    text: String,
}

enum Entry {
    Row(Vec<Cell>),
    /// A line, but for this many columns at the left, which go on through it.
    Separator(usize),
}

/// More columns are a mistake.
const MAX_COLUMNS: usize = 4096;

/// A table under construction.
pub struct Table {
    columns: usize,
    /// Before each line.
    prefix: String,
    equal_widths: bool,
    entries: Vec<Entry>,
}

impl Table {
    /// An empty table. At least one column is needed to print it.
    pub fn new(columns: usize, prefix: &str, equal_widths: bool) -> Table {
        Table {
            columns,
            prefix: prefix.to_owned(),
            equal_widths,
            entries: Vec::new(),
        }
    }

    /// Adds a line whose `merged` first columns are left open.
    ///
    /// # Errors
    /// `InvalidParam` for more columns than there are.
    pub fn add_separator(&mut self, merged: usize) -> Result<()> {
        if merged > self.columns {
            crate::ucs_error!(
                "table line leaves {merged} of {} columns open",
                self.columns
            );
            return Err(Error::InvalidParam);
        }
        self.entries.push(Entry::Separator(merged));
        Ok(())
    }

    /// Adds an empty row and returns its number.
    pub fn add_row(&mut self) -> usize {
        self.entries.push(Entry::Row(Vec::new()));
        self.entries.len() - 1
    }

    /// Adds a cell over `span` columns at the end of a row.
    ///
    /// # Errors
    /// `InvalidParam` when there is no such row, for a span of 0, and for text of several lines.
    pub fn add_cell(&mut self, row: usize, span: usize, align: Align, text: &str) -> Result<()> {
        let Some(Entry::Row(cells)) = self.entries.get_mut(row) else {
            crate::ucs_error!("table has no row {row}");
            return Err(Error::InvalidParam);
        };
        if span == 0 || text.contains('\n') {
            crate::ucs_error!("table cell of {span} columns with text '{text}'");
            return Err(Error::InvalidParam);
        }
        cells.push(Cell {
            span,
            align,
            text: text.to_owned(),
        });
        Ok(())
    }

    /// The table's text, with a line above the first and below the last row.
    ///
    /// # Errors
    /// `InvalidParam` when a row has more columns than the table.
    pub fn render(&self) -> Result<String> {
        let widths = self.widths()?;
        let mut out = String::new();
        self.separator(&mut out, &widths, 0);
        for entry in &self.entries {
            match entry {
                Entry::Row(cells) => self.row(&mut out, &widths, cells),
                Entry::Separator(merged) => self.separator(&mut out, &widths, *merged),
            }
        }
        if !matches!(self.entries.last(), Some(Entry::Separator(_))) {
            self.separator(&mut out, &widths, 0);
        }
        Ok(out)
    }

    fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Row(cells) => Some(cells.as_slice()),
            Entry::Separator(_) => None,
        })
    }

    /// Widths of the columns: what single cells need; a wider spanning cell widens its last one.
    fn widths(&self) -> Result<Vec<usize>> {
        if self.columns == 0 || self.columns > MAX_COLUMNS {
            crate::ucs_error!("table of {} columns", self.columns);
            return Err(Error::InvalidParam);
        }
        let mut widths = vec![0; self.columns];
        for spanning in [false, true] {
            for cells in self.rows() {
                let mut at = 0usize;
                for cell in cells {
                    let end = at.saturating_add(cell.span);
                    let Some(columns) = widths.get_mut(at..end) else {
                        crate::ucs_error!("table row has more than {} columns", self.columns);
                        return Err(Error::InvalidParam);
                    };
                    let present = width(columns);
                    if let Some(last) = columns.last_mut().filter(|_| (cell.span > 1) == spanning) {
                        *last += cell.text.chars().count().saturating_sub(present);
                    }
                    at = end;
                }
            }
        }
        if self.equal_widths {
            let widest = widths.iter().copied().max().unwrap_or(0);
            widths.fill(widest);
        }
        Ok(widths)
    }

    fn row(&self, out: &mut String, widths: &[usize], cells: &[Cell]) {
        out.push_str(&self.prefix);
        let mut at = 0usize;
        for cell in cells {
            let end = at.saturating_add(cell.span);
            let w = width(widths.get(at..end).unwrap_or_default());
            let _ = match cell.align {
                Align::Left => write!(out, "| {:<w$} ", cell.text),
                Align::Right => write!(out, "| {:>w$} ", cell.text),
                Align::Center => write!(out, "| {:^w$} ", cell.text),
            };
            at = end;
        }
        out.push_str("|\n");
    }

    fn separator(&self, out: &mut String, widths: &[usize], merged: usize) {
        out.push_str(&self.prefix);
        for (column, width) in widths.iter().enumerate() {
            let (edge, fill) = if column < merged {
                ('|', " ")
            } else {
                ('+', "-")
            };
            out.push(edge);
            out.push_str(&fill.repeat(width + 2));
        }
        out.push_str("+\n");
    }
}

/// Width of a cell over these columns, inner borders included.
fn width(columns: &[usize]) -> usize {
    columns.iter().sum::<usize>() + 3 * columns.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table() {
        let mut table = Table::new(2, "# ", false);
        let row = table.add_row();
        table.add_cell(row, 1, Align::Right, "a").expect("valid");
        table
            .add_cell(row, 1, Align::Center, "bbbb")
            .expect("valid");
        table.add_separator(1).expect("valid");
        let row = table.add_row();
        table
            .add_cell(row, 2, Align::Left, "a long text")
            .expect("valid");
        let text = table.render().expect("valid");
        let expected = "# +---+---------+\n# | a |  bbbb   |\n# |   +---------+\n\
                        # | a long text |\n# +---+---------+\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn wrong_tables() {
        let mut table = Table::new(1, "", true);
        assert_eq!(table.add_separator(2), Err(Error::InvalidParam));
        assert_eq!(
            table.add_cell(0, 1, Align::Left, ""),
            Err(Error::InvalidParam)
        );
        let row = table.add_row();
        assert_eq!(
            table.add_cell(row, 0, Align::Left, ""),
            Err(Error::InvalidParam)
        );
        assert_eq!(
            table.add_cell(row, 1, Align::Left, "a\nb"),
            Err(Error::InvalidParam)
        );
        table
            .add_cell(row, 2, Align::Left, "x")
            .expect("noticed when printed");
        assert_eq!(table.render(), Err(Error::InvalidParam));
    }
}
