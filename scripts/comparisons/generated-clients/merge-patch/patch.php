<?php
require_once '/usr/share/php/GuzzleHttp/autoload.php'; // Debian's
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/php/lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'OpenAPI\\Client\\') && is_file($file)) {
        require_once $file;
    }
});

$configuration = (new OpenAPI\Client\Configuration())->setHost(getenv('URL'));
$items = new OpenAPI\Client\Api\DefaultApi(new GuzzleHttp\Client(), $configuration);
$patch = new OpenAPI\Client\Model\ItemPatch(['note' => null]);
$items->patchItem(1, $patch);
$items->patchBoth(1, $patch);
