//! `ucx_perftest`: measures the libraries, between two processes or within one.
//!
//! | file | what |
//! |---|---|
//! | `tests` | the list of tests |
//! | `options` | the command line and batch files |
//! | `params` | what a test is given, and its form on the wire |
//! | `rte` | the connection that the two sides agree by |
//! | `measure`, `report` | times, and how they are printed |
//! | `ucp/`, `uct/` | the tests |
//!
//! The two sides talk as UCX's own program of version 1.22 does, so that each may be either.

mod measure;
mod options;
mod params;
mod report;
mod rte;
mod tests;
#[allow(unsafe_code)]
mod ucp;
#[allow(unsafe_code)]
mod uct;
#[allow(unsafe_code)]
mod wire;

use super::client::log::{error, warning};
use super::client::ucs::status_text;
use super::library;
use crate::ucs::status::Error;
use options::{Batch, Options};
use params::{Flags, Params};
use report::Report;
use rte::Rte;
use tests::Api;

/// The program. Returns its exit status.
pub fn main() -> i32 {
    if let Err(reason) = library::open() {
        eprintln!("ucx_perftest: {reason}");
        return 127;
    }
    let arguments = super::options::arguments();
    let options = match Options::read(&arguments) {
        Ok(options) => options,
        Err(ended) => return ended,
    };
    if options.set_affinity().is_err() {
        return -1;
    }
    match run(options) {
        Ok(()) => 0,
        Err(_) => -1,
    }
}

fn run(mut options: Options) -> Result<(), Error> {
    let loopback = options.params.flags.contains(Flags::LOOPBACK);
    let rte = match loopback {
        true => Rte::loopback(),
        false => Rte::connect(&mut options),
    };
    let rte = rte.inspect_err(|error| {
        error!(
            "failed to setup RTE transport: {}",
            status_text((*error).into())
        );
    })?;
    let report = Report::new(&options, &rte, loopback);
    if options.batches.is_empty() {
        let prefix = if report.prints_results {
            "command line: "
        } else {
            ""
        };
        options.params.complete(prefix)?;
    }
    report.header(&options.params);
    let mut names = Vec::new();
    let done = run_all(&options, &report, &rte, &options.params, &mut names);
    if let Err(error) = done {
        error!("Failed to run test: {}", status_text(error.into()));
    }
    done
}

/// Runs the test, or for each line of the next batch file those of the files that follow.
fn run_all(
    options: &Options,
    report: &Report,
    rte: &Rte,
    params: &Params,
    names: &mut Vec<String>,
) -> Result<(), Error> {
    let Some(file) = options.batches.get(names.len()) else {
        report.test_name(names);
        params.check()?;
        return run_one(report, rte, params, names);
    };
    for test in Batch::read(file, params)? {
        let (name, params) = test?;
        names.push(name);
        // A test that fails doesn't keep the others from being run.
        let _ = run_all(options, report, rte, &params, names);
        names.pop();
    }
    Ok(())
}

fn run_one(report: &Report, rte: &Rte, params: &Params, names: &[String]) -> Result<(), Error> {
    for kind in [params.send_mem_type, params.recv_mem_type] {
        if kind != 0 {
            error!(
                "Unsupported memory types {}<->{}",
                params.send_memory(),
                params.recv_memory()
            );
            return Err(Error::Unsupported);
        }
    }
    if params.has_device() {
        error!("tests on the memory of accelerators are not supported");
        return Err(Error::Unsupported);
    }
    let each = |result: &measure::Result, extra: &str, last, threads| {
        report.line(result, extra, last, threads, names);
    };
    match params.test()?.api {
        Api::Ucp => ucp::run(rte, params, &each),
        Api::Uct => uct::run(rte, params, &each),
    }
}

/// Receives a result, further words about the operation, whether it is the last one, and whether
/// it is of several threads.
type Each<'a> = &'a (dyn Fn(&measure::Result, &str, bool, bool) + Sync);

/// One test: how it is run once, and how both sides wait for each other.
trait Runner {
    /// Runs it for as many iterations as `measure` says.
    fn run(&mut self, measure: &mut measure::Measure) -> Result<(), Error>;

    /// Waits until all threads of both sides are here.
    fn barrier(&mut self);

    /// The other side's answer, or ours if that is no success. One for all threads.
    fn agree(&mut self, ours: i8) -> i8;
}

const OK: i8 = 0;
const GO_ON: i8 = 1;

/// Warms up, then measures.
fn measured(
    runner: &mut dyn Runner,
    params: &Params,
    measure: &mut measure::Measure,
) -> Result<(), Error> {
    let deadline = measure.deadline(params.warmup_time);
    let (mut iterations, mut done) = (1, 0);
    while done < params.warmup_iter {
        measure.limit(iterations);
        runner.run(measure)?;
        runner.barrier();
        let ours = if measure::ticks() > deadline {
            OK
        } else {
            GO_ON
        };
        match runner.agree(ours) {
            GO_ON => {}
            OK => break,
            status => return Err(Error::from_code(status).unwrap_or(Error::IoError)),
        }
        done += iterations;
        iterations *= 2;
    }
    measure.begin();
    runner.run(measure)?;
    runner.barrier();
    Ok(())
}

/// Says that an option without effect was given.
fn ignored(option: char, value: &str) {
    warning!("-{option} '{value}' ignored for UCP test; see NOTES section in help message");
}
