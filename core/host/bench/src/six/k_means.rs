//! k-means: each point goes to the nearest center, and each center moves to the mean of its points.

use devarray::{
    Array, Compute, Result, StreamHandle,
    function::{ReduceOperation, Reduction},
};
use ndarray::{Array1, Array2, Axis, Zip};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const POINTS: usize = 200_000;
const DIMENSIONS: usize = 16;
const CENTERS: usize = 32;
const STEPS: usize = 10;

// devarray
fn ours<D: Compute>(
    on: &StreamHandle<D>,
    points: &Array<f32, D>,
    start: &Array<f32, D>,
) -> Result<Array<f32, D>> {
    let mut centers = start.try_clone(on)?;
    let along_rows = Reduction::new(ReduceOperation::Sum).axes(&[1]);
    for _ in 0..STEPS {
        // The square of the point is left out, because it is the same for all centers.
        let squares: Array<f32, D> = centers.reduce(on, &along_rows, |c| c * c)?;
        let scores = points.matmul_map(on, &centers.view().transpose(), &squares, |product, square| {
            square - product * 2.0
        })?;
        let nearest = scores.argmin(on, 1)?;
        let counts = nearest.bincount(on, CENTERS)?;
        let mut sums = Array::zeros(on, &[CENTERS, DIMENSIONS])?;
        sums.view_mut().put_add(on, 0, &nearest, points)?;
        centers.update(on, (&sums, counts.expand_dims(1)?), |center, (sum, count)| {
            count.gt(0).select(sum / count.cast::<f32>(), center)
        })?;
    }
    Ok(centers)
}
// ndarray
fn theirs(points: &Array2<f32>, start: &Array2<f32>) -> Array2<f32> {
    let mut centers = start.clone();
    for _ in 0..STEPS {
        // The square of the point is left out, because it is the same for all centers.
        let squares = centers.map_axis(Axis(1), |center| center.dot(&center));
        let scores = points.dot(&centers.t()) * -2.0 + &squares;
        let mut counts = Array1::<f32>::zeros(CENTERS);
        let mut sums = Array2::<f32>::zeros((CENTERS, DIMENSIONS));
        for (point, scores) in points.rows().into_iter().zip(scores.rows()) {
            let mut nearest = 0;
            for (center, &score) in scores.iter().enumerate() {
                if score < scores[nearest] {
                    nearest = center;
                }
            }
            counts[nearest] += 1.0;
            let mut sum = sums.row_mut(nearest);
            sum += &point;
        }
        Zip::from(centers.rows_mut()).and(sums.rows()).and(&counts).for_each(|mut center, sum, &count| {
            if count > 0.0 {
                center.assign(&(&sum / count));
            }
        });
    }
    centers
}
// end

pub(crate) fn compare(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let mut random = Random(1);
    let places: Vec<f32> = (0..CENTERS * DIMENSIONS).map(|_| 3.0 * random.normal()).collect();
    let points: Vec<f32> =
        (0..POINTS * DIMENSIONS).map(|at| places[at % places.len()] + random.normal()).collect();
    let theirs_points = Array2::from_shape_vec((POINTS, DIMENSIONS), points.clone())?;
    let theirs_start = Array2::from_shape_vec((CENTERS, DIMENSIONS), points[..places.len()].to_vec())?;
    let ours_points = Array::from_slice(stream, &[POINTS, DIMENSIONS], &points)?;
    let ours_start = Array::from_slice(stream, &[CENTERS, DIMENSIONS], &points[..places.len()])?;
    let (found, due, seconds) =
        race(stream, || ours(stream, &ours_points, &ours_start), || theirs(&theirs_points, &theirs_start))?;
    agreement::close("k-means", &found.to_vec(stream)?, due.as_slice().unwrap_or_default(), 1e-4)?;
    Ok(table::Row {
        name: "k-means, 200,000 points of 16, 32 centers, 10 steps, f32",
        agreement: "within 1e-4",
        seconds,
        source: include_str!("k_means.rs"),
        markers: table::MARKERS,
    })
}
