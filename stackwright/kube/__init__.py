"""Our Kubernetes runtime: client, informers, queue, controllers, shapes of a controller, webhooks, CRDs.

The rule of this folder: it knows Kubernetes and nothing above it. No word of what runs on the cluster,
no import from a sibling folder; it could be published alone.
"""
