terraform {
  required_providers {
    vsphere = { source = "registry.opentofu.org/hashicorp/vsphere" }
  }
}
variable "server" {}
variable "host" {}
provider "vsphere" {
  user                 = "operator"
  password             = "secret"
  vsphere_server       = var.server
  allow_unverified_ssl = true
}
data "vsphere_datacenter" "dc" { name = "DC0" }
data "vsphere_compute_cluster" "c" {
  name          = "C0"
  datacenter_id = data.vsphere_datacenter.dc.id
}
data "vsphere_datastore" "d" {
  name          = "store-1"
  datacenter_id = data.vsphere_datacenter.dc.id
}
data "vsphere_network" "n" {
  name          = "net-1"
  datacenter_id = data.vsphere_datacenter.dc.id
}
data "vsphere_host" "h" {
  name          = var.host
  datacenter_id = data.vsphere_datacenter.dc.id
}
resource "vsphere_folder" "f" {
  path          = "made"
  type          = "vm"
  datacenter_id = data.vsphere_datacenter.dc.id
}
resource "vsphere_resource_pool" "p" {
  name                    = "pool"
  parent_resource_pool_id = data.vsphere_compute_cluster.c.resource_pool_id
  cpu_limit               = 8000
}
resource "vsphere_tag_category" "k" {
  name             = "colour"
  cardinality      = "SINGLE"
  associable_types = ["VirtualMachine"]
}
resource "vsphere_tag" "t" {
  name        = "red"
  category_id = vsphere_tag_category.k.id
}
variable "cpus" { default = 2 }
resource "vsphere_virtual_machine" "vm" {
  count                      = 2
  name                       = "tofu-${count.index}"
  resource_pool_id           = vsphere_resource_pool.p.id
  datastore_id               = data.vsphere_datastore.d.id
  folder                     = vsphere_folder.f.path
  num_cpus                   = var.cpus
  memory                     = 1024
  guest_id                   = "other3xLinux64Guest"
  tags                       = [vsphere_tag.t.id]
  wait_for_guest_net_timeout = 0
  wait_for_guest_ip_timeout  = 0
  network_interface { network_id = data.vsphere_network.n.id }
  disk {
    label = "disk0"
    size  = 1
  }
}
resource "vsphere_compute_cluster_vm_anti_affinity_rule" "r" {
  name                = "apart"
  compute_cluster_id  = data.vsphere_compute_cluster.c.id
  virtual_machine_ids = vsphere_virtual_machine.vm[*].id
}
