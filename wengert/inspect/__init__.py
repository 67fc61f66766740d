"""Looking inside: why a gradient is what it is (`explain`), where a NaN begins (`debug_nans`), drawings of graphs."""
