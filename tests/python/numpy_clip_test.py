"""numpy's own tests of np.clip, TestClip, with clipper.clip in place of np.clip and ndarray.clip."""

import ast
import inspect

import clipper
import pytest
from numpy._core.tests import test_numeric


class Replace(ast.NodeTransformer):
    """np.clip(x, ...) and x.clip(...) become replaced_clip(x, ...); self.clip, numpy's oracle, stays."""

    def visit_Call(self, node):
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "clip":
            owner = function.value
            if not isinstance(owner, ast.Name) or owner.id not in ("self", "np"):
                node.args.insert(0, owner)
            if not isinstance(owner, ast.Name) or owner.id != "self":
                node.func = ast.Name("replaced_clip", ast.Load())
        return node


def replaced_clip(x, min=None, max=None, out=None, **options):
    """numpy's rule for min above max, and no permission to cast, which numpy needs for bounds of other dtypes."""
    if options.get("casting") == "unsafe":
        del options["casting"]
    return clipper.clip(x, min, max, out=out, min_above_max="max", **options)


def numpy_tests():
    tree = Replace().visit(ast.parse(inspect.getsource(test_numeric.TestClip)))
    tree.body[0].name = "OfNumpy"
    names = {**vars(test_numeric), "replaced_clip": replaced_clip}
    exec(compile(ast.fix_missing_locations(tree), test_numeric.__file__, "exec"), names)
    return names["OfNumpy"]


OTHER_DTYPE = "clipper never changes the dtype: out must have that of x, and the numbers of other arrays must be exact in it"
NO_DTYPE = "clipper takes integers and floats of up to 64 bits"

#: The tests that cannot pass, and why. A name without parameters stands for all of its cases.
OTHERWISE = {
    **{f"test_ones_pathological[{dtype}]": NO_DTYPE for dtype in "?gFDGO"},
    "test_simple_complex": NO_DTYPE,
    "test_clip_complex": NO_DTYPE,
    "test_object_clip": NO_DTYPE,
    "test_clip_all_none": NO_DTYPE,
    "test_clip_problem_cases": NO_DTYPE,
    "test_NaT_propagation": NO_DTYPE,
    "test_simple_int64_out": OTHER_DTYPE,
    "test_simple_int32_out": OTHER_DTYPE,
    "test_type_cast_10": OTHER_DTYPE,
    "test_type_cast_12": OTHER_DTYPE,
    "test_clip_with_out_simple_int32": OTHER_DTYPE,
    "test_clip_with_out_array_outint32": OTHER_DTYPE,
    "test_clip_scalar_nan_propagation": OTHER_DTYPE,
    "test_clip_property": OTHER_DTYPE + "; hypothesis_test.py has the property for equal dtypes",
    "test_clip_nan": "clipper refuses NaN as a bound",
    "test_clip_invalid_casting": "there is no casting, because the dtype never changes",
    "test_clip_min_max_args": "numpy refuses one positional bound, and has two names for each bound",
}


pytestmark = pytest.mark.filterwarnings("ignore::clipper.TruncationWarning")  # numpy's tests have fractions as bounds of integers


@pytest.fixture(autouse=True)
def otherwise(request):
    reason = OTHERWISE.get(request.node.name, OTHERWISE.get(request.node.originalname))
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


TestOfNumpy = numpy_tests()


def test_every_reason_is_of_a_test():
    names = {name.partition("[")[0] for name in OTHERWISE}
    assert names <= {name for name in vars(TestOfNumpy) if name.startswith("test_")}
