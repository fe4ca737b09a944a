import bisect
import heapq
import statistics
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
@dataclass(order=True)
class Job:
    priority: int
    name: str = field(compare=False)
class Thing:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self.n < other.n
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
def handle(event, ctx):
    heap = [5, 3, 9, 1, 7, 3, 8]
    heapq.heapify(heap)
    out = [list(heap)]
    heapq.heappush(heap, 2)
    out += [list(heap), heapq.heappop(heap), list(heap), heapq.heapreplace(heap, 6), heapq.heappushpop(heap, 0), heapq.heappushpop(heap, 50), list(heap), [heapq.heappop(heap) for _ in range(len(heap))], attempt(lambda: heapq.heappop([])), heapq.nlargest(2, [1, 3, 2]), heapq.nsmallest(0, [1], key=5), heapq.nlargest(-1, [1]), heapq.nlargest(9, [1, 2]), heapq.nsmallest(2, ['bb', 'a', 'ccc'], key=len), list(heapq.merge([1, 4], [2, 3], [0])), list(heapq.merge([4, 1], [3, 2], reverse=True)), list(heapq.merge(['a', 'ccc'], ['bb'], key=len))]
    jobs = []
    for n, name in enumerate('dacb'):
        heapq.heappush(jobs, Job(n % 2, name))
        heapq.heappush(jobs, Job(5 - n, name * 2))
    out += [[heapq.heappop(jobs).name for _ in range(8)]]
    things = [Thing(n) for n in (3, 1, 2)]
    heapq.heapify(things)
    out += [[t.n for t in things], heapq.heappop(things).n]
    pairs = [(2, 'b'), (1, 'z'), (2, 'a')]
    heapq.heapify(pairs)
    out += [[heapq.heappop(pairs) for _ in range(3)]]
    a = [1, 3, 3, 5]
    bisect.insort(a, 4)
    bisect.insort_left(a, 3)
    out += [a, bisect.bisect(a, 3), bisect.bisect_left(a, 3), bisect.bisect_right(a, 3, 0, 2), bisect.bisect(['a', 'bb'], 2, key=len), attempt(lambda: bisect.bisect([1], 1, -1)), bisect.bisect_left((1, 2), 9)]
    rows = [{'n': 1}, {'n': 4}]
    bisect.insort(rows, {'n': 2}, key=lambda row: row['n'])
    out += [rows, statistics.mean([1, 2, 3, 4]), statistics.mean([1, 2]), statistics.fmean([1, 2.5]), statistics.median([3, 1, 2, 10]), statistics.median_low([1, 2]), statistics.mode('aabb'), statistics.mode([(1, 2), (1, 2), 3]), statistics.multimode([1, 2, 2, 1]), round(statistics.stdev([1, 2, 4]), 9), statistics.pvariance([1, 2, 4]), str(statistics.mean([Decimal('0.5'), Decimal(1)])), statistics.quantiles([1, 2, 3, 4, 5], n=4), round(statistics.geometric_mean([1, 9]), 9), statistics.harmonic_mean([40, 60]), attempt(lambda: statistics.mean([])), attempt(lambda: statistics.mode([])), statistics.variance([1, 2, 4], 2)]
    berlin = ZoneInfo('Europe/Berlin')
    summer = datetime(2024, 7, 1, 12, tzinfo=berlin)
    out += [summer.isoformat(), summer.astimezone(ZoneInfo('America/New_York')).isoformat(), summer.utcoffset().total_seconds(), summer.tzname(), berlin.key, str(berlin), repr(berlin), (summer + timedelta(days=180)).isoformat(), datetime(2024, 1, 1, tzinfo=timezone.utc).astimezone(berlin).strftime('%H:%M %Z'), summer.dst().total_seconds(), isinstance(berlin, ZoneInfo), summer.tzinfo is berlin, attempt(lambda: ZoneInfo('No/Where'))[0]]
    try: ZoneInfo('../etc/passwd')
    except (ZoneInfoNotFoundError, ValueError): out.append('refused')
    return out
