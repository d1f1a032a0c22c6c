<?php
// A session with the client that openapi-generator generates for PHP. Exits with 1 at the first unexpected result.

require_once '/usr/share/php/GuzzleHttp/autoload.php'; // Debian's; with Composer vendor/autoload.php has all of it
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/client/lib/' . strtr(substr($class, strlen('Animals\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'Animals\\') && is_file($file)) {
        require_once $file;
    }
});

use Animals\Api\AnimalsApi;
use Animals\ApiException;
use Animals\Configuration;
use Animals\Model\Error;
use Animals\Model\ErrorCode;
use Animals\Model\NewPet;
use Animals\Model\PetStatus;

function openStore(string $url, string $key): AnimalsApi
{
    $configuration = (new Configuration())->setHost(getenv($url))->setAccessToken($key);
    return new AnimalsApi(new GuzzleHttp\Client(), $configuration);
}

function expect(string $label, bool $passed, mixed $actual = null): void
{
    if (!$passed) {
        fwrite(STDERR, "$label: " . print_r($actual, true));
        exit(1);
    }
    echo "$label\n";
}

function refused(string $label, callable $call, int $status, string $code): ApiException
{
    try {
        $call();
    } catch (ApiException $error) {
        $body = $error->getResponseObject();
        $fits = $body instanceof Error && $error->getCode() === $status && $body->getCode() === $code;
        expect($label, $fits, $error->getMessage());
        return $error;
    }
    expect($label, false, 'not refused');
}

$store = openStore('URL', getenv('KEY'));
$zoe = new NewPet(['name' => 'Zoë', 'category_id' => PHP_INT_MAX, 'status' => PetStatus::SOLD]);
$create = fn () => $store->createPet($zoe, getenv('IDEMPOTENCY_KEY'));
$created = $create();
$read = $store->getPet($created->getId());
$fields = [$read->getName(), $read->getCategoryId(), $read->getStatus()];
expect('create and read', $fields === ['Zoë', PHP_INT_MAX, 'sold'], $read);
expect('create again', $create()->getId() === $created->getId());
$least = $store->createPet(new NewPet(['name' => 'Bo', 'category_id' => PHP_INT_MIN]));
expect('the least int64', $least->getCategoryId() === PHP_INT_MIN, $least);

$first = $store->listPets(limit: 1);
$second = $store->listPets(limit: 1, after: $first[0]->getId());
expect('next page', count($second) === 1 && $second[0]->getId() > $first[0]->getId(), $second);

try {
    $store->listPets(limit: 0);
    expect('400, by the client', false);
} catch (InvalidArgumentException) {
    echo "400, by the client\n";
}
refused('401', fn () => openStore('URL', 'wrong')->listPets(), 401, ErrorCode::INVALID_API_KEY);
refused('404', fn () => $store->getPet(PHP_INT_MAX), 404, ErrorCode::PET_NOT_FOUND);

$free = openStore('URL', getenv('FREE_KEY'));
$useUp = function () use ($free): void {
    while (true) {
        $free->listPets();
    }
};
$error = refused('429', $useUp, 429, ErrorCode::RATE_LIMIT_EXCEEDED);
$headers = array_change_key_case($error->getResponseHeaders());
expect('Retry-After', (int) $headers['retry-after'][0] > 0, $headers);

$future = openStore('FUTURE_URL', 'key');
expect('new field and status', $future->listPets()[0]->getStatus() === 'reserved');
refused('new error code', fn () => $future->getPet(1), 404, 'pet_reserved');
