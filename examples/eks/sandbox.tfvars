min_size     = 1
max_size     = 3
desired_size = 2

# The role of the page: the component files gives it its permissions.
additional_irsas = [{
  role_name       = "page"
  namespace       = "{{.nuon.install.id}}"
  service_account = "page"
}]
