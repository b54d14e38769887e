"""Its presence puts this folder on the path, so that tests share `devices` and `trees`."""
