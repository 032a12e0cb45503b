//! Times lookups in the registration cache: what is there already, for one buffer and for many,
//! and what has to be registered anew since its memory was mapped again. Prints nanoseconds;
//! the first is "value".

use std::hint::black_box;
use std::time::Instant;

use ucx::sys::map::{Mapping, PAGE, Place};
use ucx::ucs::rcache::{Access, Cache, Params, Registrar, Span};
use ucx::ucs::status::Result;

/// Registers for nothing.
struct Free;

impl Registrar for Free {
    type Handle = usize;

    fn register(&self, span: Span, _: Access) -> Result<usize> {
        Ok(span.start)
    }

    fn deregister(&self, _: usize) {}
}

/// The best of several runs, in nanoseconds for one of `count`.
fn best(count: usize, mut run: impl FnMut(usize)) -> f64 {
    let times = (0..9).map(|_| {
        let start = Instant::now();
        (0..count).for_each(&mut run);
        start.elapsed().as_nanos() as f64 / count as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() -> Result<()> {
    let cache = Cache::new(Free, Params::default())?;
    let memory = Mapping::anonymous(Place::ANY, 2048 * PAGE).expect("memory");
    let start = memory.ptr().expose_provenance();
    // What is got is given back at once.
    let get = |address, len| {
        let region = cache.get(address, len, Access::READ_WRITE);
        black_box(region.is_ok());
    };
    let one = best(1_000_000, |_| get(start, PAGE));
    let many = best(1_000_000, |i| {
        get(start + (i.wrapping_mul(7919) % 256) * 2 * PAGE, PAGE)
    });
    let anew = best(2_000, |_| {
        let memory = Mapping::anonymous(Place::ANY, 16 * PAGE).expect("memory");
        get(memory.ptr().expose_provenance(), 16 * PAGE);
    });
    println!("value {one:.2}\nhit among 256 {many:.1}\nmapped anew {anew:.1}");
    Ok(())
}
