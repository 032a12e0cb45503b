//! `-s`, `-T`, `-M`: processor, topology, copies.

use std::time::{Duration, Instant, SystemTime};

use super::options::Print;
use crate::abi::prelude::ucs_sys_dev_distance_t;
use crate::sys::cpu::rdtsc;
use crate::tools::client::ucs;
use crate::tools::out;
use crate::ucs::arch::{Clock, clock};
use crate::ucs::status::{Result, Status};
use crate::ucs::table::{Align, Table};

const MEGABYTE: f64 = 1024.0 * 1024.0;
/// More bandwidth than that is as good as no limit.
const UNLIMITED: f64 = (1u64 << 50) as f64;

pub fn print(what: Print) {
    if what.contains(Print::SYSTEM) {
        out!("# Timer frequency: {:.3} MHz\n", ucs::clock_rate() / 1e6);
        out!("# Timer accuracy: {:.3} %\n", timer_accuracy() * 100.0);
        for (name, value) in LABELS.into_iter().zip(ucs::machine()) {
            out!("# {name}: {value}\n");
        }
    }
    if what.contains(Print::TOPOLOGY) {
        let tables = distances().and_then(|first| Ok((first, memory_latency()?)));
        if let Ok((distances, latency)) = tables {
            out!("#\n# System topology\n#\n{distances}");
            out!("#\n# NUMA memory latency\n#\n{latency}");
            out!("# Memory latency is calculated according to the CPU affinity\n");
        }
    }
    if what.contains(Print::COPIES) {
        ucs::print_copy_limits();
        out!("# Memcpy bandwidth:\n");
        for size in (12..=28).map(|bits| 1usize << bits) {
            out!(
                "#     {size:10} bytes: {:.3} MB/s\n",
                copy_bandwidth(size) / MEGABYTE
            );
        }
    }
}

/// What the three texts of [`ucs::machine`] are called.
pub const LABELS: [&str; 3] = ["CPU vendor", "CPU model", "Product name"];

/// How well the library's clock agrees with the system's, 1 at best.
pub fn timer_accuracy() -> f64 {
    let ticks = || match clock() {
        Clock::Tsc(_) => rdtsc() as f64,
        Clock::Micros => SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0.0, |since| since.as_micros() as f64),
    };
    let (before, system) = (ticks(), Instant::now());
    std::thread::sleep(Duration::from_millis(100));
    let ours = (ticks() - before) / clock().per_second();
    let theirs = system.elapsed().as_secs_f64();
    ours.min(theirs) / ours.max(theirs)
}

/// Names of the devices that the topology knows.
pub fn device_names() -> Vec<String> {
    (0..ucs::devices()).map(ucs::device_name).collect()
}

fn blank_row(table: &mut Table) -> Result<()> {
    let row = table.add_row();
    for _ in 0..=ucs::devices() {
        table.add_cell(row, 1, Align::Left, "")?;
    }
    Ok(())
}

/// A table with a column per device, and its heading.
fn table(first_column: &str) -> Result<Table> {
    let mut table = Table::new(1 + usize::from(ucs::devices()), "# ", true);
    blank_row(&mut table)?;
    let row = table.add_row();
    table.add_cell(row, 1, Align::Right, first_column)?;
    for name in device_names() {
        table.add_cell(row, 1, Align::Right, &name)?;
    }
    blank_row(&mut table)?;
    table.add_separator(0)?;
    Ok(table)
}

/// A bandwidth of the topology in MB/s, or why there is none.
fn bandwidth_text(distance: Result<ucs_sys_dev_distance_t>) -> String {
    match distance {
        Err(error) => format!("<{}>", ucs::status_text(Status::from(error))),
        Ok(distance) if distance.bandwidth > UNLIMITED => "inf".to_owned(),
        Ok(distance) => format!("{:.1}", distance.bandwidth / MEGABYTE),
    }
}

fn distances() -> Result<String> {
    let mut table = table("MB/s")?;
    for (from, name) in (0..).zip(device_names()) {
        if from > 0 {
            table.add_separator(0)?;
        }
        blank_row(&mut table)?;
        let row = table.add_row();
        table.add_cell(row, 1, Align::Right, &name)?;
        for to in 0..ucs::devices() {
            if from == to {
                table.add_cell(row, 1, Align::Center, "-")?;
            } else {
                table.add_cell(
                    row,
                    1,
                    Align::Right,
                    &bandwidth_text(ucs::distance(from, to)),
                )?;
            }
        }
        blank_row(&mut table)?;
    }
    table.render()
}

fn memory_latency() -> Result<String> {
    let mut table = table("device")?;
    blank_row(&mut table)?;
    let row = table.add_row();
    table.add_cell(row, 1, Align::Right, "nsec")?;
    for device in 0..ucs::devices() {
        let latency = ucs::memory_distance(device).latency;
        table.add_cell(row, 1, Align::Right, &format!("{:.1}", latency * 1e9))?;
    }
    blank_row(&mut table)?;
    table.render()
}

/// Bytes per second of copies of this size, measured for half a second.
fn copy_bandwidth(size: usize) -> f64 {
    let source = vec![1u8; size];
    let mut target = vec![0u8; size];
    target.copy_from_slice(&source);
    let (begin, mut copies) = (Instant::now(), 0u64);
    while begin.elapsed() < Duration::from_millis(500) {
        target.copy_from_slice(&source);
        std::hint::black_box(&mut target);
        copies += 1;
    }
    size as f64 * copies as f64 / begin.elapsed().as_secs_f64()
}
