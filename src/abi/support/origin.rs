//! Where the library was loaded from, and whether all of UCX comes from there.

use core::ffi::CStr;

use crate::sys::symbols::{Binding, Object, binding, own};

/// One symbol of each layer, none of them ever called through this list.
const LAYERS: [&CStr; 3] = [
    c"ucs_status_string",
    c"uct_config_release",
    c"ucm_set_event_handler",
];

/// The file that the library was loaded from.
pub fn path() -> String {
    own().map_or_else(
        || "<unknown>".to_owned(),
        |object| object.path.display().to_string(),
    )
}

/// Finds a mix of UCX libraries: a program that calls our `ucp_init` and somebody else's lower
/// layers would pass objects of one to the other. Returns the line that says so.
pub fn mixed() -> Option<String> {
    mix(&own()?, binding)
}

fn mix(own: &Object, binding: impl Fn(&CStr) -> Binding) -> Option<String> {
    // Whoever reached us although the program's names lead elsewhere holds a handle of ours and
    // looks up everything through it.
    match binding(c"ucp_init_version") {
        Binding::In(object) if object == *own => {}
        Binding::Stub => {}
        _ => return None,
    }
    LAYERS.into_iter().find_map(|name| match binding(name) {
        Binding::In(other) if other != *own => Some(format!(
            "two UCX libraries are mixed in this process: ucp_init is of {}, {} is of {}; load \
             all four libraries from one folder (LD_LIBRARY_PATH, or all four in LD_PRELOAD)",
            own.path.display(),
            name.to_string_lossy(),
            other.path.display()
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> (Object, Object) {
        let ours = own().expect("loaded from a file");
        let Binding::In(other) = binding(c"qsort") else {
            panic!("libc has it")
        };
        (ours, other)
    }

    #[test]
    fn a_mix_names_both_files() {
        let (ours, other) = objects();
        let bind = |name: &CStr| {
            Binding::In(if name == c"uct_config_release" {
                other.clone()
            } else {
                ours.clone()
            })
        };
        let text = mix(&ours, bind).expect("mixed");
        assert!(text.contains(&ours.path.display().to_string()), "{text}");
        assert!(text.contains(&other.path.display().to_string()), "{text}");
    }

    #[test]
    fn what_is_no_mix() {
        let (ours, other) = objects();
        assert_eq!(mix(&ours, |_| Binding::In(ours.clone())), None);
        // Loaded beside another UCX, and used through a handle.
        assert_eq!(mix(&ours, |_| Binding::In(other.clone())), None);
        // The program takes the address of a function.
        let stub = |name: &CStr| match name == c"ucs_status_string" {
            true => Binding::Stub,
            false => Binding::In(ours.clone()),
        };
        assert_eq!(mix(&ours, stub), None);
        assert_eq!(mixed(), None);
    }
}
