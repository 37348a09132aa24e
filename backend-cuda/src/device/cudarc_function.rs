//! Kernels of modules that cudarc loaded.
#![allow(unsafe_code)] // uses a function that its caller vouches for

use cudarc::driver::CudaFunction;
use devarray::{Error, Result, kernel::Kernel};

use super::CudaDevice;
use crate::{
    driver::{BACKEND, Driver},
    images::{DeclaredKernel, check_parameters},
};

impl CudaDevice {
    /// Makes launches of `K` on this device run a function that cudarc loaded, in place of the
    /// image that the kernel declares. Does not synchronize.
    ///
    /// The function, and with it its module, is kept until the device is closed. cudarc loads into
    /// the device's primary context, which this library uses too. cudarc's streams and events are
    /// not used.
    ///
    /// ```no_run
    /// # #![allow(unsafe_code)]
    /// # use devarray::kernel::{Grid, Image, In, Out, has_len};
    /// # devarray::kernel! {
    /// #     pub struct Scale(from: In<f32>, to: Out<f32>, k: f32);
    /// #     image = Image::none();
    /// #     launch { has_len(from, to.len())?; Grid::elements(to.len(), 256) }
    /// #     host { for (to, from) in to.iter_mut().zip(from) { *to = k * from } }
    /// # }
    /// use cudarc::driver::CudaContext;
    /// use devarray_cuda::CudaDevice;
    ///
    /// let device = CudaDevice::open(0)?;
    /// let module = CudaContext::new(0)?.load_module(cudarc::nvrtc::Ptx::from_src(std::fs::read_to_string("scale.ptx")?))?;
    /// // SAFETY: the function does what `Scale` declares.
    /// unsafe { device.launch_with::<Scale>(module.load_function("scale")?) }?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`]: the device was opened through a driver that is not the
    ///   machine's.
    /// - [`Error::Kernel`]: the function takes other parameters than declared, as far as the
    ///   driver can say.
    /// - Any other driver error.
    ///
    /// # Safety
    ///
    /// The function belongs to this device, and meets the conditions of
    /// [`Image::ptx`](devarray::kernel::Image::ptx) on an entry.
    pub unsafe fn launch_with<K: Kernel>(&self, function: CudaFunction) -> Result<()> {
        let (context, declaration) = (self.context(), K::declaration());
        let operation = declaration.name();
        let own = Driver::load().is_ok_and(|driver| std::sync::Arc::ptr_eq(&driver, self.driver()));
        if !own {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        context.bound(operation)?;
        let raw = function.cu_function();
        check_parameters(context, declaration, raw)?;
        let kernel = DeclaredKernel::new(context, declaration, raw, Some(Box::new(function)))?;
        self.open.images.put(declaration, kernel);
        Ok(())
    }
}
