labels = {
  install = "{{.nuon.install.name}}"
  app     = "hello"
}
