"""What everything around a kernel costs: launches, Views, copies, fences, policies."""
