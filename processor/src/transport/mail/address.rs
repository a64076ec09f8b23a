//! Addresses (RFC 5321, 4.1.2; RFC 6531, 3.3), alone or after a name.

use super::Mailbox;
use crate::transport::document::{Malformed, Node, breaks_lines};
use idna::AsciiDenyList;
use idna::uts46::DnsLength;
use idna::uts46::{Hyphens, Uts46};
use std::borrow::Cow;
use std::fmt::{Display, Formatter};

/// Longest name in characters.
const NAME_MAX: usize = 256;
/// Longest part before the `@` in octets (RFC 5321, 4.5.3.1.1).
const LOCAL_MAX: usize = 64;
/// Longest address in octets: that of a path, without its brackets (RFC 5321, 4.5.3.1.3).
const ADDRESS_MAX: usize = 254;

impl Mailbox {
    /// Reads `addr` or `Name <addr>`.
    pub fn read(node: &Node<'_>) -> Result<Self, Malformed> {
        let text = node.text()?;
        Self::parse(text.expose()).map_err(|problem| {
            node.malformed(format!(
                "expected user@example.org or Name <user@example.org>: {problem}"
            ))
        })
    }

    /// Reads `addr`, without a name.
    pub fn read_bare(node: &Node<'_>) -> Result<Self, Malformed> {
        let mailbox = Self::read(node)?;
        if mailbox.name.is_some() {
            return Err(node.malformed("expected user@example.org, without a name"));
        }
        Ok(mailbox)
    }

    /// The address, without the name.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}@{}", self.local, self.domain)
    }

    /// Blanks at the ends are none of it; those within belong to the name or are a mistake.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim_matches([' ', '\t']);
        if text.contains(breaks_lines) {
            return Err("it holds a control character");
        }
        let (name, address) = split_name(text)?;
        if name
            .as_ref()
            .is_some_and(|name| name.chars().count() > NAME_MAX)
        {
            return Err("the name has more than 256 characters");
        }
        let (local, domain) = split_address(address)?;
        let local = local.to_owned();
        let domain = ascii_domain(domain).ok_or("there is no domain name after the @")?;
        if local.len() > LOCAL_MAX {
            return Err("there are more than 64 octets before the @");
        }
        if local.len() + 1 + domain.len() > ADDRESS_MAX {
            return Err("the address has more than 254 octets");
        }
        Ok(Self {
            name,
            local,
            domain,
        })
    }
}

impl Display for Mailbox {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

/// The name, unquoted, and the address that follows it.
fn split_name(text: &str) -> Result<(Option<String>, &str), &'static str> {
    let Some(text) = text.strip_suffix('>') else {
        return Ok((None, text));
    };
    let (name, address) = if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = unquote(quoted).ok_or("the quoted name has no end")?;
        let address = rest.trim_start_matches([' ', '\t']).strip_prefix('<');
        (name, address.ok_or("there is no < after the quoted name")?)
    } else {
        let (name, address) = text.split_once('<').ok_or("there is a > without a <")?;
        if name.contains(['"', '>']) {
            return Err("a name with quotes or angle brackets must be quoted");
        }
        (name.to_owned(), address)
    };
    let name = name.trim_matches(' ');
    Ok(((!name.is_empty()).then(|| name.to_owned()), address))
}

/// What stands before the closing quote, without backslashes, and what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((name, chars.as_str())),
            '\\' => name.push(chars.next()?),
            c => name.push(c),
        }
    }
}

/// What stands before the `@`, and the domain after it.
fn split_address(address: &str) -> Result<(&str, &str), &'static str> {
    if address.starts_with('"') {
        let (local, domain) = address.rsplit_once('@').ok_or("there is no @")?;
        return if is_quoted_local(local) {
            Ok((local, domain))
        } else {
            Err("the quoted part before the @ is not accepted")
        };
    }
    let (local, domain) = address.split_once('@').ok_or("there is no @")?;
    if local.split('.').any(str::is_empty) {
        return Err("there is an empty part before the @");
    }
    if !local.chars().all(|c| c == '.' || is_atom(c)) {
        return Err("there is a character before the @ that is not accepted there");
    }
    Ok((local, domain))
}

/// A quoted string of printable ASCII (RFC 5321, 4.1.2: Quoted-string).
fn is_quoted_local(local: &str) -> bool {
    let inner = local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| {
        let mut bytes = inner.bytes();
        while let Some(byte) = bytes.next() {
            let byte = if byte == b'\\' {
                bytes.next()
            } else if byte == b'"' {
                None
            } else {
                Some(byte)
            };
            if !byte.is_some_and(|byte| (b' '..=b'~').contains(&byte)) {
                return false;
            }
        }
        true
    })
}

/// Whether `c` may stand in an unquoted local part: `atext` (RFC 5322, 3.2.3), or a character of another script that can be seen.
fn is_atom(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '\0'..='\x7f' => "!#$%&'*+-/=?^_`{|}~".contains(c),
        c => !is_unseen(c),
    }
}

/// Blanks of other scripts, marks of direction and what has no width: two addresses that look alike must be alike.
fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The domain in lower-case ASCII (RFC 5891), if it is one: labels of letters, digits and inner hyphens (RFC 1123, 2.1).
pub(in crate::transport) fn ascii_domain(domain: &str) -> Option<String> {
    if domain.contains(is_unseen) {
        return None;
    }
    let ascii = Uts46::new().to_ascii(
        domain.as_bytes(),
        AsciiDenyList::STD3,
        // Registries have given out names with hyphens in the third and fourth place.
        Hyphens::CheckFirstLast,
        DnsLength::Verify,
    );
    ascii.ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests;
