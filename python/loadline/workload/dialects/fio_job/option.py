"""Which of fio's options are part of a workload, and which could reach past the target."""

from __future__ import annotations

import re

from loadline.errors import InputError
from loadline.workload.dialects.text import Place
from loadline.workload.suite import nearest

ASYNCHRONOUS = {"libaio", "io_uring", "posixaio"}
SYNCHRONOUS = {"sync", "psync", "vsync", "pvsync", "pvsync2"}

#: May stand without a value, which then is 1.
FLAGS = {
    "exitall", "exitall_on_error", "group_reporting", "new_group", "norandommap", "refill_buffers", "stonewall",
    "thread", "time_based", "wait_for_previous",
}  # fmt: skip

# fio has many options whose names are a little like others; only a slip of the pen is more alike.
_ALIKE = 0.75

# What fio is told anyway, or what doesn't change the workload.
_NO_EFFECT = {
    "allow_file_create", "allrandrepeat", "bwavgtime", "clat_percentiles", "create_fsync", "create_serialize",
    "description", "disable_bw", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat", "disk_util",
    "end_fsync", "exitall", "exitall_on_error", "fallocate", "fsync_on_close", "group_reporting", "gtod_reduce",
    "invalidate", "io_submit_mode", "iopsavgtime", "lat_percentiles", "name", "new_group", "norandommap", "overwrite",
    "percentile_list", "random_generator", "randrepeat", "randseed", "refill_buffers", "scramble_buffers",
    "slat_percentiles", "softrandommap", "thread", "unified_rw_reporting",
}  # fmt: skip

#: Understood, but not as loadline places and submits requests: left out, with a warning.
LEFT_OUT = {
    "filesize", "iodepth_batch", "iodepth_batch_complete", "iodepth_batch_complete_min", "iodepth_batch_submit",
    "loops", "nr_files", "nrfiles",
}  # fmt: skip

#: Every option that is read.
KNOWN = _NO_EFFECT | LEFT_OUT | {
    "blocksize", "bs", "bssplit", "buffer_compress_percentage", "buffered", "dedupe_percentage", "direct", "fdatasync",
    "fileoffset", "fsync", "iodepth", "ioengine", "numjobs", "offset", "offset_increment", "percentage_random",
    "ramp_time", "random_distribution", "rate_iops", "rate_process", "readwrite", "runtime", "rw", "rwmixread",
    "rwmixwrite", "size", "stonewall", "sync", "thinktime", "thinktime_blocks", "time_based", "timeout",
    "wait_for_previous",
}  # fmt: skip

# Options of jobs, of engines and of the command line; by what they would reach.
_REACHES_PAST = re.compile(
    "|".join(
        (
            r"filename(_format)?|unique_filename|directory|opendir|include|lockfile|file_append|fill_device|fill_fs",
            r"exec_(pre|post)run|program|arguments|std_redirect|grace_time|trigger.*|script|profile|dlopen.*|uid|gid",
            r"(write|read)_iolog.*|replay_.*|merge_blktrace_.*|write_(bw|lat|hist|iops)_log|log_.*|per_job_logs",
            r"verify_(state.*|dump)|error_dump|aux-path|output.*|daemonize|mem|iomem|ioscheduler|cgroup.*",
            r"allow_mounted_write|create_only|pre_read|unlink.*|donorname|inplace|zonemode|zone_reset.*",
            r"hostname|bindname|port|interface|proto(col)?|netfilename|listen|client|server|remote-config|verb",
            r"uri|nbd.*|nfs_.*|http.*|rbdname|pool|clustername|clientname|conf|volume|brick|single-instance",
            r"hdfsdirectory|namenode|chun(c)?k_size|libblkio_.*|spdk_.*|cuda_io|gpu_.*|cmd_type|sg_write_mode",
        )
    )
)


def check(key: str, value: str | None, place: Place) -> str:
    """The value of an option that may be read and stands at `place`; of a flag without one, 1.

    Raises:
        InputError: the option isn't known, could reach past the target, or has no value.
    """
    if _REACHES_PAST.fullmatch(key):
        raise past_the_target(key, place)
    if key not in KNOWN:
        raise place.fault(
            f"{key[:80]}: not an option that loadline knows as part of a workload",
            nearest(key, KNOWN, "docs/reference/fio-job-files.md lists what is known.", _ALIKE),
        )
    if value is None and key in FLAGS:
        return "1"
    if not value:
        raise place.fault(f"{key}: no value", f"Write it like {key}=VALUE, or take the line out.")
    if "$" in value:
        raise place.fault(f"{key}: variables ({value[:80]}) are not read", "Write the value itself.")
    return value


def past_the_target(what: str, place: Place) -> InputError:
    """The refusal of `what`."""
    return place.fault(
        f"{what}: refused, for it could reach past the target",
        "Take the line out; the target is named on the command line.",
    )
