# Makes vectors.txt: what the published functions make of some cycles, written from their
# documentation with nothing of plimsoll. A line holds the cycle, its hash, machine_id, the
# number of the word, time, sensor_value, station_id, and the length and place of data.
from struct import unpack

M = (1 << 64) - 1


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & M


def fmix(k):
    for c in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        k = ((k ^ (k >> 33)) * c) & M
    return k ^ (k >> 33)


def murmur(data):
    assert len(data) == 8
    k = int.from_bytes(data, "little") * 0x87C37B91114253D5 & M
    h1, h2 = rotl(k, 31) * 0x4CF5AD432745937F & M ^ 8, 8
    h1 = (h1 + h2) & M
    h2 = (h2 + h1) & M
    return (fmix(h1) + fmix(h2)) & M


def h(v):
    x = murmur(v.to_bytes(8, "big", signed=True))
    return abs(x - (1 << 64) if x >> 63 else x)


def uuid(v):
    high, low = h(v), h(v + 1)
    high = high & ~0xF000 | 0x4000
    low = low & 0x3FFFFFFFFFFFFFFF | 1 << 63
    return f"{high:016x}{low:016x}"


# The quantiles of quantiles.txt, of Normal(0, 5), clamped to the range of a Java long.
with open("quantiles.txt") as file:
    table = [max(-(2.0**63), unpack(">d", bytes.fromhex(line))[0]) for line in file] + [0]


def value(x):
    at = float(x) * (1 / float((1 << 63) - 1) * (len(table) - 2))
    left = int(at)
    part = at - left
    return table[left] * (1 - part) + table[left + 1] * part + 100


for c in [0, 1, 2, 9, 10, 11, 99, 100, 217, 1281, 9999, 10000, 10001, 12345, 99999, 100000, 999999, 1000000, 1234567, 9999999, 10000000, 123456789, 599999999, 600000000]:
    x = h(c)
    size = 800 + x % 401
    print(c, x, uuid(c % 10000), x % 100, c * 100 // 10000, repr(value(x)), uuid(c // 10000 % 100), size, x % (1 << 31) % (92818 - size))
