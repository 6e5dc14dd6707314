//! What the people of the generated traffic say: a message object without sender, id and time.

use fastrand::Rng;
use serde_json::{Value, json};

const TEXTS: &[&str] = &[
    "Hi! Are you open on Saturday?",
    "Does it come in another color?",
    "Bom dia! O pedido já saiu? 😊",
    "Queria remarcar para quinta, pode ser?",
    "Obrigada!! 🙏🏽❤️",
    "¿Cuánto cuesta el envío a Córdoba?",
    "Je voudrais un devis, s'il vous plaît.",
    "مرحبا، هل المنتج متوفر الآن؟",
    "שלום, מתי תגיע ההזמנה שלי?",
    "नमस्ते, क्या आज डिलीवरी होगी?",
    "予約を変更したいのですが",
    "👩‍👩‍👧‍👦🎉🎉",
    "ok",
    "Please don't stop the renewal",
    "Line one\nline two\n\tand a tab",
    "\"quoted\" <b>bold?</b> & 100% \\ done",
];

const NAMES: &[&str] = &[
    "Ana Souza",
    "Sheena Nelson",
    "Miguel Ángel Ruiz",
    "Zoë Lefèvre",
    "ليلى حداد",
    "נועה לוי",
    "आरव शर्मा",
    "佐藤 健",
    "Joãozinho 🚀",
    "O'Brien & Sons",
];

pub fn name(rng: &mut Rng) -> &'static str {
    NAMES[rng.usize(..NAMES.len())]
}

/// One message: text seven times in ten, else one of the other kinds.
pub fn message(rng: &mut Rng) -> Value {
    let text = TEXTS[rng.usize(..TEXTS.len())];
    let media = rng.u64(100_000_000..1_000_000_000).to_string();
    match rng.u8(0..30) {
        0 => json!({"type": "image", "image": media_of(&media, "image/jpeg")}),
        1 => json!({"type": "image", "image": {
            "caption": text, "mime_type": "image/jpeg", "sha256": sha(rng), "id": media}}),
        2 => json!({"type": "audio", "audio": {
            "mime_type": "audio/ogg; codecs=opus", "sha256": sha(rng), "id": media,
            "voice": true}}),
        3 => json!({"type": "video", "video": media_of(&media, "video/mp4")}),
        4 => json!({"type": "document", "document": {
            "filename": "comprovante.pdf", "mime_type": "application/pdf", "sha256": sha(rng),
            "id": media}}),
        5 => json!({"type": "sticker", "sticker": media_of(&media, "image/webp")}),
        6 => json!({"type": "location", "location": {
            "latitude": -23.561_4, "longitude": -46.655_9, "name": "MASP"}}),
        7 => json!({"type": "interactive", "interactive": {
            "type": "button_reply", "button_reply": {"id": "confirm", "title": "Confirm ✅"}}}),
        8 => json!({"type": "button", "button": {"payload": "more", "text": "Tell me more"}}),
        _ => json!({"type": "text", "text": {"body": text}}),
    }
}

pub fn stop(rng: &mut Rng) -> Value {
    let word = ["STOP", "Parar", " stop ", "UNSUBSCRIBE", "Sair"][rng.usize(..5)];
    json!({"type": "text", "text": {"body": word}})
}

fn media_of(id: &str, mime_type: &str) -> Value {
    json!({"mime_type": mime_type, "id": id})
}

fn sha(rng: &mut Rng) -> String {
    (0..43).map(|_| rng.alphanumeric()).chain(['=']).collect()
}
