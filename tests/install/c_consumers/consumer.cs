// consumer.exe IN OUT: does what `clipper --min 0 --max 6 IN OUT` does.
using System;
using System.Runtime.InteropServices;

static class Consumer {
    const string Library = "libclipper.so.0.1";
    [DllImport(Library)] static extern IntPtr clipper_request_new();
    [DllImport(Library)] static extern void clipper_request_free(IntPtr request);
    [DllImport(Library)] static extern int clipper_request_set(IntPtr request, string name, string text);
    [DllImport(Library)] static extern int clipper_clip_file(IntPtr request, string source, string result, IntPtr counts);
    [DllImport(Library)] static extern IntPtr clipper_last_error_message();

    static void Check(int status) {
        if (status != 0) throw new Exception(Marshal.PtrToStringAnsi(clipper_last_error_message()));
    }

    static void Main(string[] files) {
        IntPtr request = clipper_request_new();
        Check(clipper_request_set(request, "min", "0"));
        Check(clipper_request_set(request, "max", "6"));
        Check(clipper_clip_file(request, files[0], files[1], IntPtr.Zero));
        clipper_request_free(request);
    }
}
