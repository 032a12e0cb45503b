//! Options of the command line, by the C library's `getopt_long`: what genuine tools accept and
//! say is what it accepts and says.

use core::ffi::{CStr, c_char, c_int};
use core::ptr::{null, null_mut};
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;

/// `struct option` of `<getopt.h>`.
#[repr(C)]
struct LongOption {
    name: *const c_char,
    has_arg: c_int,
    flag: *mut c_int,
    val: c_int,
}

unsafe extern "C" {
    fn getopt_long(
        argc: c_int,
        argv: *const *mut c_char,
        optstring: *const c_char,
        longopts: *const LongOption,
        longindex: *mut c_int,
    ) -> c_int;
    static mut optind: c_int;
    static optarg: *const c_char;
}

/// One option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// Its letter; `?` for one that is not known, which was reported.
    pub letter: char,
    /// Its argument, empty if it has none.
    pub value: String,
}

/// A long option: its name, whether it has an argument, and the letter that stands for it.
pub type Long = (&'static CStr, bool, char);

/// The options among `arguments`, the first of which is the program's name, and the operands.
pub fn parse(arguments: &[String], short: &CStr, long: &[Long]) -> (Vec<Given>, Vec<String>) {
    let owned: Vec<CString> = arguments
        .iter()
        .map(|text| CString::new(text.as_str()).unwrap_or_default())
        .collect();
    let mut argv: Vec<*mut c_char> = owned.iter().map(|text| text.as_ptr().cast_mut()).collect();
    argv.push(null_mut());
    let entry = |(name, has_arg, letter): &Long| LongOption {
        name: name.as_ptr(),
        has_arg: c_int::from(*has_arg),
        flag: null_mut(),
        val: *letter as c_int,
    };
    let end = LongOption {
        name: null(),
        has_arg: 0,
        flag: null_mut(),
        val: 0,
    };
    let table: Vec<LongOption> = long.iter().map(entry).chain([end]).collect();
    let argc = owned.len() as c_int;
    let mut found = Vec::new();
    // SAFETY: the vector ends with NULL, its strings and the table live on, and the program has
    // one thread that looks at options. `optind` 0 begins anew.
    let first = unsafe {
        optind = 0;
        loop {
            let argv = argv.as_ptr();
            let letter = getopt_long(argc, argv, short.as_ptr(), table.as_ptr(), null_mut());
            if letter == -1 {
                break optind;
            }
            let value = match optarg.as_ref() {
                Some(text) => CStr::from_ptr(text).to_string_lossy().into_owned(),
                None => String::new(),
            };
            let letter = u8::try_from(letter).map_or('?', char::from);
            found.push(Given { letter, value });
        }
    };
    let operands = argv.iter().skip(first.max(0) as usize);
    let operands = operands.filter(|text| !text.is_null()).map(|text| {
        // SAFETY: strings of `owned`, in the order that they were brought into.
        unsafe { CStr::from_ptr(*text) }
            .to_string_lossy()
            .into_owned()
    });
    (found, operands.collect())
}

/// The program's arguments.
pub fn arguments() -> Vec<String> {
    let text = |arg: OsString| String::from_utf8_lossy(&arg.into_vec()).into_owned();
    std::env::args_os().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_together_and_operands_between() {
        let arguments = ["x", "-cf", "host", "-n5", "--why", "-t", "tcp"].map(str::to_owned);
        let (given, operands) = parse(&arguments, c"cfn:t:", &[(c"why", false, 'W')]);
        let text: Vec<String> = given
            .iter()
            .map(|g| format!("{}{}", g.letter, g.value))
            .collect();
        assert_eq!(text, ["c", "f", "n5", "W", "ttcp"]);
        assert_eq!(operands, ["host"]);
        // A second list is looked at from its beginning.
        let (given, operands) = parse(&arguments, c"cfn:t:", &[(c"why", false, 'W')]);
        assert_eq!((given.len(), operands.len()), (5, 1));
    }
}
