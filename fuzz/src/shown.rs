//! What may reach a terminal: told by Unicode's tables, not by what zklock thinks.

/// Panics unless the text is one line that neither steers a terminal nor reads otherwise than it is written.
#[track_caller]
pub fn assert_harmless(text: &str) {
    let bad = text.chars().find(|&c| c.is_control() || turns(c) || breaks(c) || hides(c));
    assert_eq!(bad, None, "in {text:?}");
}

/// `Bidi_Control`.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Categories `Zl` and `Zp`: a line that ends in the middle.
fn breaks(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Of no width: two names that look the same.
fn hides(c: char) -> bool {
    matches!(c, '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
