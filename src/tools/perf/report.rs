//! What is printed.

use super::measure::Result;
use super::options::Options;
use super::params::{LAYOUTS, Params};
use super::rte::Rte;
use super::tests::{Api, Command};
use crate::tools::out;

const MEGABYTE: f64 = 1024.0 * 1024.0;
const FULL_LINE: &str = "+----------------------------------------------------------------------------------------------------------+\n";
const COLUMNS: &str = "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+";

/// How and what to print.
pub struct Report {
    /// Results are printed by the client.
    pub prints_results: bool,
    /// The test is described by the server.
    prints_test: bool,
    csv: bool,
    only_final: bool,
    grouped: bool,
    extra: bool,
    percentile: f64,
    batches: Vec<String>,
}

impl Report {
    pub fn new(options: &Options, rte: &Rte, loopback: bool) -> Report {
        let name = |path: &String| match path.rsplit_once('/') {
            Some((_, name)) => name.to_owned(),
            None => path.clone(),
        };
        Report {
            prints_results: loopback || !rte.is_server(),
            prints_test: loopback || rte.is_server(),
            csv: options.csv,
            only_final: options.only_final,
            grouped: options.grouped,
            extra: options.extra,
            percentile: options.params.percentile,
            batches: options.batches.iter().map(name).collect(),
        }
    }

    /// Prints what the test is, and the heads of the columns.
    pub fn header(&self, params: &Params) {
        let test = params.test.and_then(|_| params.test().ok());
        if let Some(test) = test.filter(|_| self.prints_test) {
            out!("{FULL_LINE}");
            let line = |name: &str, value: &str| {
                out!("| {name:<13} {value:<60}                               |\n")
            };
            let (api, data) = match test.api {
                Api::Uct => (
                    "transport layer",
                    LAYOUTS
                        .get(params.layout as usize)
                        .map_or("(undefined)", |(_, text)| *text),
                ),
                Api::Ucp => ("protocol layer", "(automatic)"),
            };
            line("API:", api);
            line("Test:", test.description);
            line("Data layout:", data);
            line("Send memory:", params.send_memory());
            line("Recv memory:", params.recv_memory());
            line("Message size:", &params.size().to_string());
            line("Window size:", &params.max_outstanding.to_string());
            if test.api == Api::Ucp && test.command == Command::Am {
                out!(
                    "| AM header size: {:<60}                             |\n",
                    params.ucp_am_header
                );
            }
        }
        if self.csv {
            if self.prints_results {
                let batches: String = self.batches.iter().map(|name| format!("{name},")).collect();
                out!(
                    "{batches}iterations,{:.1}_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n",
                    self.percentile
                );
            }
        } else if self.prints_results {
            let column = test.map_or("overhead", |test| test.column);
            let first = if self.only_final { "Test" } else { "Stage" };
            out!(
                "+--------------+--------------+------------------------------+---------------------+-----------------------+\n"
            );
            out!(
                "|              |              |       {column:>8} (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
            );
            out!("{COLUMNS}\n");
            out!(
                "|    {first:>5}     | # iterations | {:4.1}%ile | average | overall |  average |  overall |  average  |  overall  |\n",
                self.percentile
            );
            out!("{COLUMNS}\n");
        } else if self.prints_test {
            out!("{FULL_LINE}");
        }
        flush();
    }

    /// Prints which test of the batch files it is.
    pub fn test_name(&self, names: &[String]) {
        if self.csv || self.only_final || names.is_empty() || !self.prints_results {
            return;
        }
        let name = names.join("/");
        let rest = COLUMNS.get(1 + name.len()..).unwrap_or("");
        out!("+{name}{rest}\n");
    }

    /// Prints a result.
    pub fn line(&self, result: &Result, extra: &str, last: bool, threads: bool, names: &[String]) {
        if !self.prints_results || (!last && self.only_final) {
            return;
        }
        let mut text = String::new();
        if self.csv {
            text.extend(names.iter().map(|name| format!("{name},")));
        }
        if !last {
            text.push_str("[thread 0]");
        } else if !self.csv {
            match self.only_final {
                true => text.push_str(&format!("{}{:>10}", names.join("/"), "")),
                false => text.push_str("Final:    "),
            }
        }
        text.push_str(&self.numbers(result, last && threads));
        if self.extra && !self.csv {
            text.push_str(&format!("  {extra}"));
        }
        out!("{text}\n");
        flush();
    }

    fn numbers(&self, result: &Result, threads: bool) -> String {
        let (lat, bw, rate) = (&result.latency, &result.bandwidth, &result.rate);
        let usec = |seconds: f64| seconds * 1e6;
        let megabytes = |bytes: f64| bytes / MEGABYTE;
        let count = |value: f64, width: usize| match self.grouped {
            true => format!("{:>width$}", grouped(value)),
            false => format!("{value:>width$.0}"),
        };
        let iterations = result.iterations as f64;
        match (threads, self.csv) {
            (true, true) => format!(
                "{iterations:4.0},{:.3},{:.2},{:.0}",
                usec(lat.total),
                megabytes(bw.total),
                rate.total
            ),
            (true, false) => format!(
                "{} {:29.3} {:22.2} {}",
                count(iterations, 18),
                usec(lat.total),
                megabytes(bw.total),
                count(rate.total, if self.grouped { 24 } else { 23 })
            ),
            (false, true) => format!(
                "{iterations:4.0},{:.3},{:.3},{:.3},{:.2},{:.2},{:.0},{:.0}",
                usec(lat.typical),
                usec(lat.recent),
                usec(lat.total),
                megabytes(bw.recent),
                megabytes(bw.total),
                rate.recent,
                rate.total
            ),
            (false, false) => format!(
                "{} {:10.3} {:9.3} {:9.3} {:11.2} {:10.2} {} {}",
                count(iterations, 18),
                usec(lat.typical),
                usec(lat.recent),
                usec(lat.total),
                megabytes(bw.recent),
                megabytes(bw.total),
                count(rate.recent, 11),
                count(rate.total, 11)
            ),
        }
    }
}

/// A whole number with a comma at each thousand.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Lines are seen as they come, also where standard output is no terminal.
fn flush() {
    crate::tools::client::ucs::Stream::stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands() {
        assert_eq!(grouped(0.0), "0");
        assert_eq!(grouped(999.4), "999");
        assert_eq!(grouped(1000.0), "1,000");
        assert_eq!(grouped(1234567.0), "1,234,567");
    }
}
