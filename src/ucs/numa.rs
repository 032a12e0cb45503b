//! Memory nodes, as sysfs names them.

/// The node of no known place.
pub const UNDEFINED: i16 = -1;

const LOCAL_DISTANCE: i32 = 10;

fn entries(folder: &str, prefix: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
    entries
        .flatten()
        .filter_map(|entry| number(entry.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Number of memory nodes; at least one.
pub fn nodes() -> u32 {
    entries("/sys/devices/system/node", "node").len().max(1) as u32
}

/// The node that a processor belongs to.
pub fn node_of_cpu(cpu: i32) -> i16 {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    let node = entries(&folder, "node").first().copied();
    node.and_then(|node| i16::try_from(node).ok())
        .unwrap_or(UNDEFINED)
}

/// The node that a device, given by its folder in sysfs, belongs to.
pub fn node_of_device(folder: &str) -> i16 {
    let text = std::fs::read_to_string(format!("{folder}/numa_node")).unwrap_or_default();
    text.trim()
        .parse()
        .ok()
        .filter(|node| *node >= 0)
        .unwrap_or(UNDEFINED)
}

/// The relative cost of access from one node to another: 10 within a node.
pub fn distance(from: i16, to: i16) -> i32 {
    let path = format!("/sys/devices/system/node/node{from}/distance");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let column = usize::try_from(to).ok();
    let known = column.and_then(|at| text.split_whitespace().nth(at)?.parse().ok());
    known.unwrap_or(if from == to {
        LOCAL_DISTANCE
    } else {
        2 * LOCAL_DISTANCE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory() {
        assert!(nodes() >= 1);
        assert_eq!(node_of_cpu(-1), UNDEFINED);
        assert_eq!(node_of_device("/nonexistent"), UNDEFINED);
        assert!(distance(0, 0) >= 10 && distance(0, 99) >= 10);
    }
}
