//! A call that is measured: `NAME;INPUTS[;ARGS]`.

use anyhow::{Context as _, Result, ensure};
use devarray::{
    function::ElementType,
    order::{Call, Output},
};

use super::compute_case::{ComputeInput, input, layout, selected, separated};
use crate::{
    calls::{AnyCall, Arguments, argument},
    limits::MEASURED_BYTES,
};

/// A call to measure, on C-contiguous arrays viewed through steps; results are C-contiguous arrays.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallMeasured {
    /// The case as it was written.
    pub text: String,
    /// The call.
    pub call: AnyCall,
    /// Whether sparse rows have the columns of a stencil; otherwise columns are random.
    pub stencil: bool,
    /// The arrays that it reads.
    pub inputs: Vec<ComputeInput>,
    /// The extents of each input, after its steps.
    pub shapes: Vec<Vec<usize>>,
    /// The results.
    pub outputs: Vec<Output>,
    /// The least traffic: each input once and each result once. Arrays that are put into count twice, and for
    /// the first elements of an order only the input counts.
    pub len_bytes: usize,
    /// The number of multiplications and additions of a product.
    pub operations: Option<f64>,
}

impl CallMeasured {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// The text is no case, or the call does not take such inputs.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text).with_context(|| format!("case {text:?}"))
    }

    /// The types and shapes of the inputs.
    #[must_use]
    pub fn sides(&self) -> Vec<(ElementType, &[usize])> {
        let types = self.inputs.iter().map(|input| input.element_type);
        types.zip(self.shapes.iter().map(Vec::as_slice)).collect()
    }
}

fn parse(text: &str) -> Result<CallMeasured> {
    let mut parts = text.splitn(3, ';');
    let (name, inputs) = (parts.next().unwrap_or_default().trim(), parts.next());
    let inputs = separated(inputs.context("it is not NAME;INPUTS or NAME;INPUTS;ARGS")?);
    let inputs = inputs.into_iter().map(input).collect::<Result<Vec<_>>>()?;
    let mut given = Arguments::new();
    for text in parts.next().unwrap_or_default().split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let (name, value) = argument(text).with_context(|| format!("{text:?} is not NAME=VALUE"))?;
        ensure!(given.insert(name.clone(), value).is_none(), "`{name}` is given twice");
    }
    let columns = if name == "csr_dot" { given.remove("columns") } else { None };
    ensure!(columns.as_ref().is_none_or(|columns| columns == "stencil"), "`columns` is stencil or left out");
    let stencil = columns.is_some();
    let call = AnyCall::named(name, &given).map_err(anyhow::Error::msg)?;
    let (least, most) = call.count_of_inputs();
    ensure!((least..=most).contains(&inputs.len()), "{} inputs, {name} takes {most}", inputs.len());
    let layouts = inputs.iter().map(layout).collect::<Result<Vec<_>>>()?;
    let shapes: Vec<Vec<usize>> = layouts.iter().map(|layout| layout.shape().to_vec()).collect();
    let types = inputs.iter().map(|input| input.element_type);
    let sides: Vec<_> = types.zip(shapes.iter().map(Vec::as_slice)).collect();
    let outputs = call.outputs(&sides).map_err(devarray::Error::without_location)?;
    let read =
        layouts.iter().zip(&inputs).map(|(layout, input)| selected(layout) * input.element_type.len_bytes());
    let made = |shape: &[usize], of: ElementType| {
        let len_bytes = shape.iter().fold(of.len_bytes(), |all, &extent| all.saturating_mul(extent));
        ensure!(len_bytes <= MEASURED_BYTES, "{shape:?} elements are too much to measure");
        Ok(len_bytes)
    };
    inputs.iter().try_for_each(|input| made(&input.shape, input.element_type).map(drop))?;
    let written = outputs.iter().map(|output| made(&output.shape, output.element_type));
    let written = written.collect::<Result<Vec<_>>>()?;
    let written: usize = match call {
        AnyCall::Order(Call::TopK { .. }) => 0,
        _ => written.iter().sum(),
    };
    let len_bytes = read.sum::<usize>() + written;
    ensure!(len_bytes > 0, "there is nothing to measure");
    let depth = shapes[0].last().copied().unwrap_or(1);
    let operations = (call == AnyCall::MatMul)
        .then(|| 2.0 * outputs[0].shape.iter().product::<usize>() as f64 * depth as f64);
    Ok(CallMeasured { text: text.to_owned(), call, stencil, inputs, shapes, outputs, len_bytes, operations })
}

#[cfg(test)]
mod tests {
    use super::CallMeasured;

    #[test]
    fn bytes_are_the_least_traffic() {
        for (text, len_bytes) in [
            ("sort;f32@100;axis=0", 800),
            ("argsort;f32@100;axis=0,descending=true", 400 + 800),
            ("topk;f32@100;k=3,axis=0", 400),
            ("put;f32@10,i32@100,f32@100;op=add,axis=0", 40 + 400 + 400 + 40),
            ("matmul;f32@4x3,f32@5x3/permute(1,0)", 4 * (12 + 15 + 20)),
            ("histogram;u8@50,u8@5", 50 + 5 + 4 * 8),
            ("csr_dot;f32@100,i32@100,i32@11,f32@10;columns=stencil", 400 + 400 + 44 + 40 + 40),
        ] {
            assert_eq!(CallMeasured::parse(text).unwrap().len_bytes, len_bytes, "{text}");
        }
        assert_eq!(CallMeasured::parse("matmul;f32@4x3,f32@3x5").unwrap().operations, Some(120.0));
        for text in [
            "sort;f32@3",
            "sort",
            "sort;f32@3;axis=1",
            "matmul;f32@2x3,f32@2x3",
            "put;f32@3;op=add,axis=0",
            "csr_dot;f32@9,i32@9,i32@4,f32@3;columns=any",
        ] {
            CallMeasured::parse(text).unwrap_err();
        }
    }
}
