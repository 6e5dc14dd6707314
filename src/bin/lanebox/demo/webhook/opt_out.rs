//! The words by which a person withdraws consent. One table: add a line to add a word.

/// By language, lower case, each a whole message. "cancel" and "end" are missing on purpose: in a
/// CRM they are mostly about an appointment or an order.
const WORDS: &[(&str, &str)] = &[
    ("English", "stop, stop all, stopall, unsubscribe, opt out, opt-out, optout"),
    ("Portuguese", "parar, pare, sair, descadastrar, cancelar inscrição"),
    ("Spanish", "baja, detener, darse de baja, no molestar"),
    ("French", "arret, arrêt, arrêter, désabonner, désinscrire"),
    ("German", "stopp, abmelden, abbestellen"),
    ("Italian", "disiscrivimi, annulla iscrizione"),
    ("Dutch", "stoppen, afmelden"),
    ("Russian", "стоп, отписаться"),
    ("Arabic", "إيقاف, توقف, إلغاء الاشتراك"),
    ("Hebrew", "הסר, הסירו אותי"),
    ("Hindi", "बंद करें, रोकें"),
    ("Chinese", "停止, 退订, 取消订阅"),
    ("Japanese", "停止, 配信停止"),
];

/// Is this whole text an opt-out? Case, blanks, quotes and a final mark do not matter.
pub fn is_stop(text: &str) -> bool {
    let word = text.trim_matches(is_decoration).to_lowercase();
    let mut words = WORDS.iter().flat_map(|(_, words)| words.split(", "));
    words.any(|stop| stop == word)
}

/// Does the payload or id of a button mean an opt-out? Hosts write its blanks as underscores.
pub fn means_stop(id: &str) -> bool {
    is_stop(&id.replace('_', " "))
}

/// What people and keyboards put around a word: blanks, marks, quotes, direction marks.
fn is_decoration(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '.' | '!' | '\'' | '"' | '\u{201c}' | '\u{201d}' | '\u{3002}' | '\u{ff01}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || c == '\u{feff}'
}
