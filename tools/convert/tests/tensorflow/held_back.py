"""Nets that are not looked at while the converter is mended: figures of these say how it does on others."""
NAMES = ("residual", "unrolled_gru", "shuffle", "where_scalar", "cumsum_reverse", "ellipsis_new_axis", "not_equal")
