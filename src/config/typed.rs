//! From a tree of values to the written types, strictly: unknown keys are refused, a number is not a text, and the
//! error is made for the person who typed. Text is taken for numbers and booleans, since the environment has no
//! other kind of value.

use std::collections::hash_map;
use std::fmt;

use config::{Map, Value, ValueKind};
use serde::de::value::{SeqDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Unexpected, Visitor};

use super::key::Key;
use super::mistake::hint;

/// A value and the key under which it stands.
pub(super) struct Typed {
    value: Value,
    key: Key,
}

/// Why a value does not fit.
#[derive(Debug)]
pub(super) enum Misfit {
    /// No setting of that name exists there.
    Unknown {
        /// The key up to and including the unknown word.
        key: Key,
        /// The names that exist there.
        known: &'static [&'static str],
    },
    /// The setting exists; its value is wrong.
    Wrong(String),
}

impl Typed {
    pub(super) fn new(value: Value) -> Self {
        Self { value, key: Key::default() }
    }

    fn expected(&self, wanted: &str) -> Misfit {
        Misfit::Wrong(format!("expected {wanted}, got {}", describe(&self.value.kind)))
    }

    /// Without the value in the refusal: whoever puts a text where a table belongs may have put a password into it.
    fn table(self) -> Result<Map<String, Self>, Misfit> {
        let table = match self.value.kind {
            ValueKind::Table(table) => table,
            ValueKind::Array(_) => {
                let problem = format!("expected a table with a name such as [{}.main], got a list", self.key);
                return Err(Misfit::Wrong(problem));
            }
            _ => return Err(Misfit::Wrong("expected a table, got one value".to_owned())),
        };
        let entry = |(name, value): (String, Value)| {
            let key = self.key.child(&name);
            (name, Self { value, key })
        };
        Ok(table.into_iter().map(entry).collect())
    }

    fn text(self) -> Result<String, Misfit> {
        match self.value.kind {
            ValueKind::String(text) => Ok(text),
            _ => Err(self.expected("a text")),
        }
    }

    /// Reads a whole number of the range of `T`.
    fn whole<T: TryFrom<i128>>(self, wanted: &str) -> Result<T, Misfit> {
        let refusal = self.expected(wanted);
        let number = match self.value.kind {
            ValueKind::I64(number) => Some(i128::from(number)),
            ValueKind::String(text) => text.parse().ok(),
            _ => None,
        };
        number.and_then(|number| T::try_from(number).ok()).ok_or(refusal)
    }

    fn fraction(self) -> Result<f64, Misfit> {
        let refusal = self.expected("a number");
        match self.value.kind {
            ValueKind::Float(number) => Ok(number),
            // Through i32, which an f64 holds exactly; a threshold beyond that is a mistake anyway.
            ValueKind::I64(number) => i32::try_from(number).map(f64::from).map_err(|_| refusal),
            ValueKind::String(text) => text.parse().map_err(|_| refusal),
            _ => Err(refusal),
        }
    }
}

fn describe(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Nil => "nothing".to_owned(),
        ValueKind::Boolean(value) => format!("{value}"),
        ValueKind::String(text) => format!("the text {text:?}"),
        ValueKind::Table(_) => "a table".to_owned(),
        ValueKind::Array(_) => "a list".to_owned(),
        ValueKind::Float(number) => format!("the number {number}"),
        ValueKind::I64(number) => format!("the number {number}"),
        ValueKind::U64(_) | ValueKind::I128(_) | ValueKind::U128(_) => "a number".to_owned(),
    }
}

impl<'de> Deserializer<'de> for Typed {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.value.kind {
            ValueKind::Boolean(value) => visitor.visit_bool(value),
            ValueKind::I64(number) => visitor.visit_i64(number),
            ValueKind::Float(number) => visitor.visit_f64(number),
            ValueKind::String(text) => visitor.visit_string(text),
            ValueKind::Array(values) => {
                let key = self.key;
                let values = values.into_iter().map(|value| Self { value, key: key.clone() });
                visitor.visit_seq(SeqDeserializer::new(values))
            }
            ValueKind::Table(_) => visitor.visit_map(Entries::of(self.table()?)),
            // No layer makes any other kind.
            ValueKind::Nil | ValueKind::U64(_) | ValueKind::I128(_) | ValueKind::U128(_) => visitor.visit_unit(),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let table = self.table()?;
        for (name, typed) in &table {
            if !known.contains(&name.as_str()) {
                return Err(Misfit::Unknown { key: typed.key.clone(), known });
            }
        }
        visitor.visit_map(Entries::of(table))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_map(Entries::of(self.table()?))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let refusal = self.expected("true or false");
        match self.value.kind {
            ValueKind::Boolean(value) => visitor.visit_bool(value),
            ValueKind::String(_) => visitor.visit_bool(self.value.into_bool().map_err(|_| refusal)?),
            _ => Err(refusal),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_u32(self.whole("a whole number from 0 to 4294967295")?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_u64(self.whole("a whole number, zero or more")?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_i64(self.whole("a whole number")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_f64(self.fraction()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let text: StringDeserializer<Misfit> = self.text()?.into_deserializer();
        visitor.visit_enum(text)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct
        identifier ignored_any
    }
}

impl IntoDeserializer<'_, Misfit> for Typed {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a table, as serde asks for them.
struct Entries {
    rest: hash_map::IntoIter<String, Typed>,
    value: Option<Typed>,
}

impl Entries {
    fn of(table: Map<String, Typed>) -> Self {
        Self { rest: table.into_iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        let Some((name, typed)) = self.rest.next() else { return Ok(None) };
        self.value = Some(typed);
        let name: StrDeserializer<'_, Misfit> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        seed.deserialize(self.value.take().expect("serde asks for a value after its key"))
    }
}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self::Wrong(words.to_string())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let choices = expected.iter().map(|choice| format!("{choice:?}")).collect::<Vec<_>>().join(", ");
        Self::Wrong(format!("{variant:?} is not one of {choices}{}", hint(variant, expected.iter().copied())))
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let got = match got {
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a table".to_owned(),
            Unexpected::Float(number) => format!("the number {number}"),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Str(text) => format!("the text {text:?}"),
            other => other.to_string(),
        };
        Self::Wrong(format!("expected {expected}, got {got}"))
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { .. } => f.write_str("unknown key"),
            Self::Wrong(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Misfit {}
