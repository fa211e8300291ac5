# Makes vectors.txt: what the published functions make of some cycles, written from their
# documentation with nothing of plimsoll. A line holds the cycle, its hash, machine_id, the
# number of the word, time, sensor_value, station_id, and the length and place of data.
from functools import reduce
from math import log, sqrt

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


# M. Giles, Approximating the erfinv function (GPU Computing Gems, Jade edition, 2011), in
# double precision, for -log(1 - x * x) below 6.25: what the library behind the published
# function evaluates, here with the highest power last.
CENTRE = [
    1.6536545626831027356, 0.24015818242558961693, -0.0060336708714301490533, -0.00074070253416626697512,
    0.0001867342080340571352, -1.3882523362786468719e-05, -1.3654692000834678645e-06, 4.2347877827932403518e-07,
    -2.9070369957882005086e-08, -4.1126339803469836976e-09, 1.051212273321532285e-09, -5.4154120542946279317e-11,
    -1.2975133253453532498e-11, 2.6335093153082322977e-12, -8.1519341976054721522e-14, -4.0545662729752068639e-14,
    6.6376381343583238325e-15, 2.0972767875968561637e-17, -1.333171662854620906e-16, 1.115787767802518096e-17,
    1.2858480715256400167e-18, -1.685059138182016589e-19, -3.6444120640178196996e-21,
]


def erfinv(x):
    w = -log((1 - x) * (1 + x)) - 3.125
    return reduce(lambda p, c: c + p * w, CENTRE[::-1]) * x


table = [100 + 5 * sqrt(2) * erfinv(2 * (s / 1000) - 1) for s in range(1, 1000)] + [0]


def value(x):
    at = float(x) * (1 / float((1 << 63) - 1) * (len(table) - 2))
    left = int(at)
    part = at - left
    return table[left] * (1 - part) + table[left + 1] * part


for c in [0, 1, 2, 9, 10, 11, 99, 100, 9999, 10000, 10001, 12345, 99999, 100000, 999999, 1000000, 1234567, 9999999, 10000000, 123456789, 599999999, 600000000]:
    x = h(c)
    size = 800 + x % 401
    print(c, x, uuid(c % 10000), x % 100, c * 100 // 10000, repr(value(x)), uuid(c // 10000 % 100), size, x % (1 << 31) % (92818 - size))
