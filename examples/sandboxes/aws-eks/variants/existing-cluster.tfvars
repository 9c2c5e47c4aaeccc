# An existing cluster: set cluster_name to its name.
create_cluster = false
