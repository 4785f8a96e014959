"""Numbers for Prometheus. Labels are of few values: never a URL, a host, a job or a caller."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from freki.serve.office import Office

# Name, and what it says. What workers count comes through the books, and outlives each of them.
REQUESTS = ("freki_http_requests", "Requests by route, method and status")
SECONDS = ("freki_http_request_seconds", "Seconds until an answer was sent, by route")
STREAMS = ("freki_event_streams", "Event streams that are open")
QUEUED = ("freki_jobs_queued", "Jobs that wait")
RUNNING = ("freki_jobs_running", "Jobs in work")
WAIT = ("freki_queue_wait_seconds", "Seconds that the job has waited which has waited longest")
HOSTS_DUE = ("freki_hosts_due", "Hosts of running crawls that may be asked now, and nobody does")
WORKERS = ("freki_workers", "Workers that are up")

# Gauges that each worker tells: the key in its statistics, the name and what it says.
OF_WORKERS = {
    "memory": ("freki_worker_memory_bytes", "Memory of a worker"),
    "cpu": ("freki_worker_cpu_seconds", "Seconds of CPU that a worker has used"),
    "jobs": ("freki_worker_jobs", "Jobs that a worker has in hand"),
    "browsers": ("freki_browsers_up", "Browsers that a worker has"),
    "browser_memory": ("freki_browser_memory_bytes", "Memory of the browsers of a worker"),
    "browser_restarts": ("freki_browser_restarts", "Browsers that a worker has replaced"),
}

# Counters by one label: the name in the books, the label and what it says.
COUNTED = {
    "jobs": ("freki_jobs", "state", "Jobs that ended, by state"),
    "job_wait_seconds": ("freki_job_wait_seconds", "kind", "Seconds that jobs waited, in all"),
    "jobs_begun": ("freki_jobs_begun", "kind", "Jobs that were begun"),
    "pages": ("freki_pages", "kind", "Pages that were stored, by kind of job"),
    "bytes": ("freki_wire_bytes", "kind", "Bytes that came in, by kind of job"),
    "errors": ("freki_errors", "reason", "URLs that failed, by reason"),
    "captures": ("freki_captures", "reason", "Visits by browsers, by outcome"),
    "blocked": ("freki_egress_blocked", "kind", "URLs that led to addresses that are not reached"),
    "cache": ("freki_capture_cache", "result", "Requests for captures, by hit or miss"),
    "deliveries": ("freki_webhook_deliveries", "outcome", "Messages to webhooks, by outcome"),
    "deleted": ("freki_jobs_deleted", "why", "Jobs that the janitor deleted, by age or size"),
    "worker_restarts": ("freki_worker_restarts", "part", "Processes that were started again"),
}

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What this process counts, and what the books say."""

    def __init__(self, office: Office) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(*REQUESTS, ("route", "method", "status"), registry=self._registry)
        self._seconds = Histogram(*SECONDS, ("route",), buckets=BUCKETS, registry=self._registry)
        self.streams = 0
        self._registry.register(_Books(office, self))

    def __repr__(self) -> str:
        return f"<Metrics streams={self.streams}>"

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self._registry)


class _Books(Collector):
    def __init__(self, office: Office, metrics: Metrics) -> None:
        self._office = office
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        standing = self._office.standing()
        yield GaugeMetricFamily(*STREAMS, value=self._metrics.streams)
        yield GaugeMetricFamily(*QUEUED, value=standing.queued)
        yield GaugeMetricFamily(*RUNNING, value=standing.running)
        yield GaugeMetricFamily(*WAIT, value=standing.oldest_queued_seconds)
        yield GaugeMetricFamily(*WORKERS, value=len(standing.workers))
        if (due := self._office.hosts_due()) is not None:
            yield GaugeMetricFamily(*HOSTS_DUE, value=due)
        for key, (name, text) in OF_WORKERS.items():
            gauge = GaugeMetricFamily(name, text, labels=["worker"])
            for number, worker in enumerate(standing.workers):
                gauge.add_metric([str(number)], worker.statistics.get(key, 0.0))
            yield gauge
        counts = self._office.counters()
        for key, (name, label, text) in COUNTED.items():
            counter = CounterMetricFamily(name, text, labels=[label])
            for (counted, value), count in counts.items():
                if counted == key:
                    counter.add_metric([value], count)
            yield counter
