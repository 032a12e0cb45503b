//! Every layout, enumerator, constant, type and prototype, as assertions that a compiler checks.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::facts::{Row, other_macros, rows};
use crate::{compile, differences, root, scratch};

/// Something that must hold: its kind and name, and the line of C that says so.
struct Claim {
    kind: &'static str,
    name: String,
    line: String,
}

fn claim(kind: &'static str, name: impl Into<String>, condition: String) -> Claim {
    let name = name.into();
    Claim {
        kind,
        line: format!("_Static_assert({condition}, \"x\");"),
        name,
    }
}

/// All headers that we have, in one prologue.
fn prologue() -> String {
    let include = root().join("include");
    let mut headers = Vec::new();
    let mut pending = vec![include.clone()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).expect("include/") {
            let path = entry.expect("include/").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                headers.push(
                    path.strip_prefix(&include)
                        .expect("inside")
                        .display()
                        .to_string(),
                );
            }
        }
    }
    headers.sort();
    let mut text = String::from("#include <stddef.h>\n#include <stdint.h>\n");
    for header in headers {
        let _ = writeln!(text, "#include <{header}>");
    }
    text
}

/// Compiles all claims, one a line, and returns those that the compiler refuses.
fn refused(claims: &[Claim], name: &str) -> BTreeSet<(String, String)> {
    let (compiler, standard) = match name.ends_with(".cpp") {
        true => ("g++", "-std=gnu++17"),
        false => ("gcc", "-std=gnu11"),
    };
    let mut text = prologue();
    let first = text.lines().count();
    for claim in claims {
        assert!(!claim.line.contains('\n'));
        text.push_str(&claim.line);
        text.push('\n');
    }
    let file = scratch(name);
    std::fs::write(&file, text).expect("scratch");
    let output = compile(
        compiler,
        &[standard, "-fmax-errors=0", "-fsyntax-only", "-w"],
        &file,
    );
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut refused = BTreeSet::new();
    for line in errors.lines().filter(|l| l.contains(": error: ")) {
        let place = line
            .strip_prefix(&format!("{}:", file.display()))
            .and_then(|rest| rest.split(':').next())
            .and_then(|n| n.parse::<usize>().ok());
        match place
            .and_then(|n| n.checked_sub(first + 1))
            .and_then(|i| claims.get(i))
        {
            Some(claim) => {
                refused.insert((claim.kind.to_string(), claim.name.clone()));
            }
            None => panic!("the headers don't compile: {line}"),
        }
    }
    assert!(
        output.status.success() || !refused.is_empty(),
        "gcc failed: {errors}"
    );
    refused
}

fn check(kinds: &[&str], claims: &[Claim], file: &str, at_least: usize) {
    assert!(
        claims.len() >= at_least,
        "only {} facts were found",
        claims.len()
    );
    differences::check(kinds, &refused(claims, file), claims.len());
}

#[test]
fn structs_and_unions() {
    let mut claims = Vec::new();
    for row in rows("layout", "layout") {
        let (name, size, align, member) = (&row[1], &row[2], &row[3], &row[4]);
        if name.contains("<anon") {
            continue;
        }
        claims.push(claim("size", name, format!("sizeof({name}) == {size}")));
        claims.push(claim("align", name, format!("_Alignof({name}) == {align}")));
        // A bit-field has no offset, and an unnamed member no name: their struct's size is checked.
        if member.is_empty() || member.contains("<anon") || !row[8].is_empty() {
            continue;
        }
        let path = format!("{name}.{member}");
        claims.push(claim(
            "offset",
            &path,
            format!("offsetof({name}, {member}) == {}", row[5]),
        ));
        let of = format!("(({name} *)0)->{member}");
        // An array without length has no size.
        if row[6] != "0" {
            claims.push(claim(
                "member-size",
                &path,
                format!("sizeof({of}) == {}", row[6]),
            ));
        }
        let ty = &row[9];
        if !ty.is_empty() && !ty.contains("<anonymous>") && !ty.contains(" *)") {
            let same = format!("__builtin_types_compatible_p(__typeof__({of}), {ty})");
            claims.push(claim("member-type", &path, same));
        }
    }
    check(
        &["size", "align", "offset", "member-size", "member-type"],
        &claims,
        "structs.c",
        2500,
    );
}

#[test]
fn enumerators() {
    let mut claims = Vec::new();
    for row in rows("enums", "enum") {
        let (ty, name, value) = (&row[1], &row[2], &row[3]);
        let value: i128 = value.parse().expect("a number");
        let same = format!("(unsigned long long)({name}) == {}ull", value as u64);
        claims.push(claim("enumerator", name, same));
        claims.push(claim(
            "enumerator",
            name,
            format!("(({name}) < 0) == {}", i32::from(value < 0)),
        ));
        if !ty.is_empty() && !ty.contains("anonymous") {
            claims.push(claim(
                "enum-size",
                ty,
                format!("sizeof({ty}) == {}", row[4]),
            ));
        }
    }
    check(&["enumerator", "enum-size"], &claims, "enums.c", 1000);
}

#[test]
fn constants() {
    let mut claims = Vec::new();
    for row in rows("macros", "macro") {
        let (name, value, ty) = (&row[1], &row[2], row[3].as_str());
        let condition = match ty {
            "string" => format!("__builtin_strcmp({name}, {value}) == 0"),
            "pointer" => format!("({name}) == 0"),
            "float" | "double" if value == "inf" => format!("__builtin_isinf({name})"),
            "float" | "double" => format!("({name}) == {value}"),
            _ => {
                let value: i128 = value.parse().expect("a number");
                format!("(unsigned long long)({name}) == {}ull", value as u64)
            }
        };
        // C++, where strings and floating numbers are constants too.
        let line = format!("static_assert({condition}, \"x\");");
        claims.push(Claim {
            kind: "constant",
            name: name.clone(),
            line,
        });
    }
    check(&["constant"], &claims, "constants.cpp", 150);
}

#[test]
fn macros() {
    let macros = other_macros();
    let mut text = prologue();
    for (_, name) in &macros {
        let _ = writeln!(text, "#ifndef {name}\nMISSING {name}\n#endif");
    }
    let file = scratch("macros.c");
    std::fs::write(&file, text).expect("scratch");
    let output = compile("gcc", &["-std=gnu11", "-E", "-P"], &file);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let missing: BTreeSet<_> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|l| l.strip_prefix("MISSING "))
        .map(|n| ("macro".to_string(), n.trim().to_string()))
        .collect();
    assert!(macros.len() > 400, "only {} facts were found", macros.len());
    differences::check(&["macro"], &missing, macros.len());
}

fn parameters(row: &Row) -> String {
    let variadic = row[5] == "1";
    let mut list = row[3].replace("; ", ", ");
    if list.is_empty() {
        list = "void".to_string();
    }
    if variadic {
        format!("{list}, ...")
    } else {
        list
    }
}

#[test]
fn prototypes() {
    let mut claims = Vec::new();
    for row in rows("functions", "function") {
        let (name, ret) = (&row[1], &row[2]);
        let prototype = format!("{ret} ({})", parameters(&row));
        let same = format!("__builtin_types_compatible_p(__typeof__({name}), {prototype})");
        claims.push(claim("prototype", name, same));
    }
    check(&["prototype"], &claims, "prototypes.c", 800);
}

#[test]
fn typedefs() {
    let mut claims = Vec::new();
    for row in rows("typedefs", "typedef") {
        let (name, kind, underlying, size) = (&row[1], row[2].as_str(), &row[3], &row[4]);
        if underlying.contains("anonymous") || kind == "enum" {
            claims.push(claim("typedef", name, format!("sizeof({name}) == {size}")));
        } else {
            let same = format!("__builtin_types_compatible_p({name}, {underlying})");
            claims.push(claim("typedef", name, same));
        }
    }
    check(&["typedef"], &claims, "typedefs.c", 350);
}

#[test]
fn variables() {
    let mut claims = Vec::new();
    for row in rows("data", "data") {
        let (name, ty) = (&row[1], &row[2]);
        let same = format!("__builtin_types_compatible_p(__typeof__({name}), {ty})");
        claims.push(claim("variable", name, same));
    }
    check(&["variable"], &claims, "variables.c", 20);
}

/// What `uct_rkey_unpack_params_t` carries beyond UCX 1.22.0.
#[test]
fn unpacking_keys_with_flags() {
    let condition = |c: &str| claim("unpack", c, c.to_string());
    let claims = [
        condition("offsetof(uct_rkey_unpack_params_t, field_mask) == 0"),
        condition("offsetof(uct_rkey_unpack_params_t, sys_device) == 8"),
        condition("offsetof(uct_rkey_unpack_params_t, flags) == 16"),
        condition("sizeof(((uct_rkey_unpack_params_t *)0)->flags) == 8"),
        condition("UCT_RKEY_UNPACK_FIELD_SYS_DEVICE == 1"),
        condition("UCT_RKEY_UNPACK_FIELD_FLAGS == 2"),
        condition("UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING == 1"),
    ];
    check(&["unpack"], &claims, "unpack.c", 7);
}

/// The check itself can fail: a false claim is refused, and only that one.
#[test]
fn a_false_claim_is_refused() {
    let claims = [
        claim("size", "right", "sizeof(ucs_status_t) == 1".to_string()),
        claim("size", "wrong", "sizeof(ucs_status_t) == 4".to_string()),
        claim(
            "size",
            "missing",
            "sizeof(ucs_no_such_type_t) == 4".to_string(),
        ),
    ];
    let refused: Vec<_> = refused(&claims, "false.c")
        .into_iter()
        .map(|(_, n)| n)
        .collect();
    assert_eq!(refused, ["missing", "wrong"]);
}
