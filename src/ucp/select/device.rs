//! Messages between devices: read by the devices' own lane, or through host memory.

use super::cost::{Linear, bandwidth};
use super::proto::{ProtoParams, RndvScheme, rndv_best};
use super::times::rndv_cost;
use crate::ucs::config::{Config, Group, Kind, Table, var};
use crate::uct::{IfaceAttr, IfaceCaps};

/// What is younger than UCX 1.22.
pub static STAGING: Table = Table {
    title: "Staging of device memory",
    prefix: "RNDV_PIPELINE_SHM_CUDA_",
    groups: &[Group {
        parents: &[],
        vars: &[var(
            "STAGING_FORCE",
            "n",
            Kind::Bool,
            "Tagged messages between devices of a host go through host memory where that is possible,\n\
             although the devices could read each other, if UCX_RNDV_SCHEME is auto.",
        )],
    }],
    ..Table::DEFAULT
};

/// Time that a copy between host and device takes beside that for its bytes.
const COPY: f64 = 8e-6;

/// What the choice goes by.
#[derive(Clone, Copy, Debug, Default)]
pub struct DevicePolicy {
    /// The lane reads, too.
    pub reads: bool,
    /// Reading, or writing.
    direct: Linear,
    /// Through host memory, as fast as the slowest of its stages.
    staged: Linear,
    /// What each byte of the first fragment takes more: nothing else is under way then.
    first: f64,
    /// Bytes of a fragment.
    fragment: usize,
    /// Fragments in host memory are allowed (`UCX_RNDV_FRAG_MEM_TYPES`).
    pub in_host: bool,
    /// The same between devices (`UCX_RNDV_PIPELINE_SHM_ENABLE`).
    pub between_devices: bool,
    forced: bool,
}

impl DevicePolicy {
    /// `lane`: that for device memory. `intra`: the peer is on this host.
    pub fn new(
        config: &Config,
        lane: Option<&IfaceAttr>,
        params: &ProtoParams<'_>,
        intra: bool,
    ) -> DevicePolicy {
        let types = config.list("RNDV_FRAG_MEM_TYPES");
        let in_host = types.iter().any(|kind| kind.eq_ignore_ascii_case("host"));
        let between_devices = in_host && (!intra || config.bool_("RNDV_PIPELINE_SHM_ENABLE"));
        let copy = |way| {
            let known = config.keyed_bandwidth("CUDA_COPY_BW", way);
            Linear::of_bandwidth(known.unwrap_or(f64::INFINITY)).per_byte
        };
        let scheme = rndv_best(params);
        let between = rndv_cost(params, scheme);
        let stages = [copy("d2h"), between.per_byte, copy("h2d")];
        let slowest = stages.iter().copied().fold(0.0, f64::max);
        let messages = rndv_cost(params, RndvScheme::Am).fixed;
        let direct = lane.map_or(Linear::new(f64::INFINITY, 0.0), |attr| {
            let own = config.time("CUDA_IPC_LAT") + config.time("CUDA_IPC_OVERHEAD");
            let bytes = Linear::of_bandwidth(bandwidth(&attr.perf, 1));
            Linear::new(messages + own, 0.0).then(bytes)
        });
        DevicePolicy {
            reads: lane.is_some_and(|attr| attr.caps.contains(IfaceCaps::GET_ZCOPY)),
            direct,
            staged: Linear::new(between.fixed.max(messages) + 2.0 * COPY, slowest),
            first: stages.iter().sum::<f64>() - slowest,
            fragment: params.rndv_frag,
            in_host,
            between_devices,
            forced: intra
                && params.rndv_scheme.is_none()
                && config.bool_("RNDV_PIPELINE_SHM_CUDA_STAGING_FORCE"),
        }
    }

    /// Whether host memory is better for a message of `size` bytes than reading.
    pub fn stages(&self, size: usize, is_tag: bool) -> bool {
        let staged = self.staged.at(size) + self.first * size.min(self.fragment) as f64;
        self.between_devices && (self.forced && is_tag || staged < self.direct.at(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uct::PerfAttr;

    fn lane(bw_shared: f64) -> IfaceAttr {
        IfaceAttr {
            caps: IfaceCaps::GET_ZCOPY,
            max_short: 0,
            max_bcopy: 8192,
            max_zcopy: 0,
            max_zcopy_header: 0,
            max_iov: 1,
            max_rma: usize::MAX,
            device_addr_len: 8,
            iface_addr_len: 8,
            perf: PerfAttr {
                latency: 1e-6,
                overhead: 1e-7,
                bw_shared,
                bw_dedicated: 0.0,
                priority: 0,
            },
        }
    }

    fn policy(set: &[(&str, &str)], ipc: f64) -> DevicePolicy {
        let mut config = Config::default();
        for (name, value) in set {
            config.set(name, value);
        }
        let am = lane(10e9);
        DevicePolicy::new(&config, Some(&lane(ipc)), &ProtoParams::new(&am), true)
    }

    #[test]
    fn the_faster_way_is_taken() {
        for size in [1, 1 << 13, 1 << 20, 1 << 30] {
            assert!(!policy(&[], 400e9).stages(size, true), "{size}");
        }
        let slow = policy(&[], 1e9);
        assert!(!slow.stages(1000, true) && slow.stages(100 << 20, true));
        let slower_copies = policy(&[("CUDA_COPY_BW", "100MBs")], 1e9);
        assert!(!slower_copies.stages(100 << 20, true));
    }

    #[test]
    fn what_the_user_wants() {
        const FORCE: (&str, &str) = ("RNDV_PIPELINE_SHM_CUDA_STAGING_FORCE", "y");
        assert!(policy(&[FORCE], 400e9).stages(1 << 20, true));
        assert!(!policy(&[FORCE], 400e9).stages(1 << 20, false), "AM");
        let off = ("RNDV_PIPELINE_SHM_ENABLE", "n");
        assert!(!policy(&[FORCE, off], 400e9).stages(1 << 20, true));
        let types = ("RNDV_FRAG_MEM_TYPE", "cuda");
        assert!(!policy(&[FORCE, types], 400e9).stages(1 << 20, true));
    }
}
