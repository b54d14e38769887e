//! Columns as a Parquet file, for time series beside a run.

use std::collections::HashSet;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::Error;

/// The values of a column; `None` is NULL.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers of 64 bits with a sign.
    Int64(Vec<Option<i64>>),
    /// Floating point of 64 bits.
    Double(Vec<Option<f64>>),
    /// Text.
    Utf8(Vec<Option<String>>),
}

impl Column {
    fn rows(&self) -> usize {
        match self {
            Column::Int64(values) => values.len(),
            Column::Double(values) => values.len(),
            Column::Utf8(values) => values.len(),
        }
    }

    fn schema(&self, name: &str) -> Result<TypePtr, Error> {
        let (physical, logical) = match self {
            Column::Int64(_) => (PhysicalType::INT64, None),
            Column::Double(_) => (PhysicalType::DOUBLE, None),
            Column::Utf8(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    }
}

/// A Parquet file of one row group (none for no rows), compressed with Snappy, with the named columns in their order.
pub fn series_parquet(columns: &[(String, Column)]) -> Result<Vec<u8>, Error> {
    let rows = check(columns)?;
    let fields = columns
        .iter()
        .map(|(name, column)| column.schema(name))
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("series")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("loadline ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    if rows > 0 {
        let mut group = file.next_row_group()?;
        for (_, column) in columns {
            match column {
                Column::Int64(values) => write::<Int64Type, _>(&mut group, values, |&value| value),
                Column::Double(values) => {
                    write::<DoubleType, _>(&mut group, values, |&value| value)
                }
                Column::Utf8(values) => {
                    write::<ByteArrayType, String>(&mut group, values, |text| text.as_str().into())
                }
            }?;
        }
        group.close()?;
    }
    Ok(file.into_inner()?)
}

/// How many rows the columns agree on.
fn check(columns: &[(String, Column)]) -> Result<usize, Error> {
    let expected = columns.first().ok_or(Error::NoColumns)?.1.rows();
    let mut names = HashSet::new();
    for (name, column) in columns {
        if !names.insert(name) {
            return Err(Error::RepeatedColumn { name: name.clone() });
        }
        if column.rows() != expected {
            return Err(Error::ColumnLength {
                name: name.clone(),
                rows: column.rows(),
                expected,
            });
        }
    }
    Ok(expected)
}

/// Writes the next column: values without the NULLs, and for each row whether it has one.
fn write<D: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> D::T,
) -> Result<(), Error> {
    let present: Vec<D::T> = values.iter().flatten().map(convert).collect();
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let mut column = group
        .next_column()?
        .ok_or_else(|| Error::Parquet("no column is left".to_owned()))?;
    column
        .typed::<D>()
        .write_batch(&present, Some(&levels), None)?;
    column.close()?;
    Ok(())
}
