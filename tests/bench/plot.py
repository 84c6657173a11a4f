"""Draws throughput.png: throughput by dtype, and the ratios of whole processes with their targets."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from targets import CACHED, DTYPES, LIBRARIES, TARGETS, UNCACHED, kernel  # noqa: E402

COLORS = {"clipper": "#1f5fa8", "numpy": "#e0a13a", "onnxruntime": "#7a9e7e", "openvino": "#a58bb5"}
PROCESSES = {"files": "Whole processes", "bounds": "Whole processes, arrays and percentiles"}
DARK, GREY = "#333333", "#8a8a8a"


def clean(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(colors=DARK, length=0)
    axes.set_axisbelow(True)


def throughput(axes, samples, size, title):
    names = {"clipper": "clipper", **LIBRARIES}
    width = 0.8 / len(names)
    for i, (who, label) in enumerate(names.items()):
        for x, dtype in enumerate(DTYPES):
            name = kernel(samples, "clip", dtype, size) if who == "clipper" else f"{who}/{dtype}/{size}/1"
            if name in samples:
                axes.bar(x - 0.4 + (i + 0.5) * width, size / samples.median(name) / 1e9, width * 0.92, color=COLORS[who],
                         label=label if x == DTYPES.index("float32") else None)
    memcpy = size / samples.median(f"memcpy/{size}") / 1e9
    axes.axhline(memcpy, color=DARK, linewidth=1.2, linestyle=(0, (5, 3)), label="memcpy")
    axes.set_xticks(range(len(DTYPES)), DTYPES)
    axes.set_ylabel("GB/s of input")
    axes.set_title(title, loc="left", fontsize=11, color=DARK)
    axes.grid(axis="y", color="#e6e6e6")
    clean(axes)


def ratios(axes, samples, part):
    rows = [(target, target.measured(samples)) for target in TARGETS if target.part == part and not target.unit]
    rows = [(target, ratio) for target, ratio in rows if ratio]
    for y, (target, ratio) in enumerate(rows):
        axes.barh(y, ratio.median, 0.6, color=COLORS["clipper"])
        if target.limit is not None:
            axes.plot([target.limit] * 2, [y - 0.42, y + 0.42], color="#c0392b", linewidth=2.2, label="_" if y else "target")
        text = f"{ratio.median:.3f}" if ratio.median < 0.1 else f"{ratio.median:.2f}"
        hides_target = target.limit is not None and ratio.median < target.limit < ratio.median + 0.16
        axes.text((target.limit if hides_target else ratio.median) + 0.015, y, text, va="center", fontsize=9, color=DARK)
    axes.axvline(1, color=GREY, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(rows)), [target.what.replace("`", "").replace("\\", "") for target, _ in rows])
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlim(left=0)
    axes.set_xlabel("clipper's time / other program's time (less is better)")
    axes.set_title(PROCESSES[part], loc="left", fontsize=11, color=DARK)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    clean(axes)


def draw(samples, about, path):
    """Draws each part as a figure of its own, so that long labels in one part do not narrow the other."""
    heights = {"kernels": 6.4, "files": 3.6, "bounds": 4.2}
    parts = [part for part in heights if part in about["parts"]]
    heights = [heights[part] for part in parts]
    picture = plt.figure(figsize=(10, sum(heights)), layout="constrained")
    for part, figure in zip(parts, picture.subfigures(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]):
        if part in PROCESSES:
            ratios(figure.subplots(), samples, part)
            continue
        cached, uncached = figure.subplots(2, 1)
        throughput(cached, samples, CACHED, "Clip to 0..6 in cache: 64 KiB, one thread")
        throughput(uncached, samples, UNCACHED, "Clip to 0..6 in memory: 16 MiB, one thread")
        figure.legend(*cached.get_legend_handles_labels(), frameon=False, ncols=5, loc="outside upper center")
    picture.savefig(path, dpi=100, facecolor="white")
