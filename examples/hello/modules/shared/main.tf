# A module without resources that lies beside the one that uses it: a build packs
# it into the artifact of web.

variable "greeting" {
  type = string
}

variable "name" {
  type = string
}

output "line" {
  value = "${var.greeting}, ${var.name}!"
}
