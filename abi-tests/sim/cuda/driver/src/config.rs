//! `CUDASIM_*`: what the environment says of the simulated machine. Shared with the management
//! library, which reads the same variables.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::OnceLock;

pub struct Config {
    /// Where processes that share devices meet.
    pub dir: PathBuf,
    /// Devices of the machine that this process sees, by their number there.
    pub devices: Vec<i32>,
    /// Bytes of memory of each device.
    pub memory: Vec<u64>,
    /// Pairs of devices that have no access to each other.
    pub no_peer: Vec<(i32, i32)>,
    pub nvlinks: u32,
    /// The machine is part of a fabric: handles of that type are allowed.
    pub fabric: bool,
    /// Microseconds that every asynchronous operation takes at least.
    pub delay_us: u64,
    pub report: Option<String>,
    /// What calls shall fail; see `call::Fault`.
    pub fail: Option<String>,
}

pub fn get() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(read)
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

pub fn complain(name: &str, value: &str) -> ! {
    eprintln!("cudasim: {name}={value} is not understood");
    std::process::abort();
}

fn number(name: &str, default: u64) -> u64 {
    var(name).map_or(default, |v| {
        v.parse().unwrap_or_else(|_| complain(name, &v))
    })
}

/// A size such as `4G`, `512m` or a number of bytes.
fn size(text: &str) -> Option<u64> {
    let unit = match text.chars().last()?.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1]
        .parse::<u64>()
        .ok()
        .map(|n| n << unit)
}

fn read() -> Config {
    // SAFETY: no arguments, cannot fail.
    let uid = unsafe { libc::getuid() };
    let dir = var("CUDASIM_DIR").unwrap_or_else(|| format!("/dev/shm/cudasim-{uid}"));
    let count = number("CUDASIM_DEVICES", 2) as usize;
    let sizes = var("CUDASIM_MEMORY").unwrap_or_else(|| "4G".to_owned());
    let mut memory: Vec<u64> = sizes
        .split(',')
        .map(|s| size(s).unwrap_or_else(|| complain("CUDASIM_MEMORY", &sizes)))
        .collect();
    let last = memory.last().copied().unwrap_or_default();
    memory.resize(count.max(memory.len()), last);
    Config {
        dir: dir.into(),
        devices: visible(count),
        memory,
        no_peer: pairs(),
        nvlinks: number("CUDASIM_NVLINKS", 2) as u32,
        fabric: number("CUDASIM_FABRIC", 0) != 0,
        delay_us: number("CUDASIM_DELAY_US", 0),
        report: var("CUDASIM_REPORT"),
        fail: var("CUDASIM_FAIL"),
    }
}

/// `CUDA_VISIBLE_DEVICES`, by numbers: the first that is none ends the list.
fn visible(count: usize) -> Vec<i32> {
    let all = 0..count as i32;
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Err(_) => all.collect(),
        Ok(list) => list
            .split(',')
            .map_while(|n| n.trim().parse().ok().filter(|n| all.contains(n)))
            .collect(),
    }
}

/// `CUDASIM_NO_PEER`: pairs such as `0-1,1-2`.
fn pairs() -> Vec<(i32, i32)> {
    let Some(text) = var("CUDASIM_NO_PEER") else {
        return Vec::new();
    };
    let pair = |p: &str| {
        let (a, b) = p.split_once('-')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    text.split(',')
        .map(|p| pair(p).unwrap_or_else(|| complain("CUDASIM_NO_PEER", &text)))
        .collect()
}
