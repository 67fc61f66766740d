"""The interfaces to derivatives: functions, graphs, tapes, Jacobians, batches."""
